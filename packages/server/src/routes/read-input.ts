import { taskId } from '@holdfast/shared/schemas'
import type { Context } from 'hono'
import type { z } from 'zod'
import { HoldfastError } from '../errors.ts'
import type { AppEnv } from './app-context.ts'
import { assertStorableJson, MAX_VALUES } from './storable-json.ts'

/** Checking so many takes longer than all else that a request costs. */
const VALUES_OF_A_REQUEST = 1_000

/** The checked JSON body. `optional` takes an absent one as `{}`. */
export async function readBody<S extends z.ZodType>(c: Context<AppEnv>, schema: S): Promise<z.infer<S>> {
  const mediaType = c.req.header('content-type')?.split(';')[0]?.trim().toLowerCase()
  if (mediaType !== 'application/json') {
    throw new HoldfastError(
      'UNSUPPORTED_MEDIA_TYPE',
      'Send the body as JSON with "Content-Type: application/json".',
    )
  }
  const text = await c.req.text()
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new HoldfastError('INVALID_JSON', 'The body is not valid JSON.', { cause: error })
  }
  let values = MAX_VALUES
  try {
    values = assertStorableJson(value)
  } finally {
    c.get('weigh')?.(Math.floor(values / VALUES_OF_A_REQUEST))
  }
  return check(schema, c.get('identity')?.isService ? withoutUserId(value) : value)
}

/** Whom a service acts for has been read already, and is no part of what is asked for. */
function withoutUserId(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).filter(([name]) => name !== 'userId'))
}

export function readQuery<S extends z.ZodType>(c: Context<AppEnv>, schema: S): z.infer<S> {
  return check(schema, c.get('identity')?.isService ? withoutUserId(c.req.query()) : c.req.query())
}

/** An id that is not even one cannot belong to anything: not found. */
export function readId(c: Context<AppEnv>, what: string): string {
  const parsed = taskId.safeParse(c.req.param('id'))
  if (!parsed.success) throw new HoldfastError('NOT_FOUND', `There is no such ${what}.`)
  return parsed.data
}

export function readIdempotencyKey(c: Context<AppEnv>): string | null {
  const key = c.req.header('idempotency-key')
  if (key === undefined) return null
  if (!/^[\x21-\x7e]{1,200}$/.test(key)) {
    throw new HoldfastError(
      'IDEMPOTENCY_KEY_INVALID',
      'Idempotency-Key must be 1 to 200 printable ASCII characters, such as a UUID.',
    )
  }
  return key
}

function check<S extends z.ZodType>(schema: S, value: unknown): z.infer<S> {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const issues = parsed.error.issues
    .slice(0, 5)
    .map((issue) => `${issue.path.join('.') || 'body'}: ${issue.message}`)
  throw new HoldfastError('INVALID_REQUEST', issues.join('; '))
}
