import { PROBLEMS } from '@holdfast/shared'
import { taskId as taskIdSchema } from '@holdfast/shared/schemas'
import { type Context, Hono } from 'hono'
import { HoldfastError } from '../errors.ts'
import type { Provider } from '../providers/provider.ts'
import { hearWebhook } from '../webhooks/hear-webhook.ts'
import type { AppContext, AppEnv } from './app-context.ts'
import { createFewAtOnce } from './few-at-once.ts'
import { readBytes } from './read-bytes.ts'

const KB = 1024
/** Where nothing is proven yet, and only the body can prove it: a signed event, without results. */
const UNPROVEN_BYTES = 64 * KB
/** At a task's own address, for adapters that say nothing. */
const DEFAULT_BYTES = 256 * KB
/** Whatever an adapter says. Larger results are found by the poll, which does not need a webhook. */
const MOST_BYTES = 1024 * KB
const BODY_WITHIN_MS = 10_000
/** So that bodies under way take 16 MB at most, and those of strangers 1 MB. */
const PROVEN_AT_ONCE = 16
const UNPROVEN_AT_ONCE = 16
/** One slow sender would otherwise keep out what vendors sign. */
const UNPROVEN_OF_AN_ADDRESS = 8

/**
 * What providers call (S2: open without a token, but signed, or at an address that only the provider was told). The
 * address is checked before the body is read. Answers fast and says little: a forger learns nothing from it.
 */
export function webhookRoutes(context: AppContext) {
  const { providers, metrics, requests } = context
  // Apart, so that strangers cannot take the room of those who have proven something.
  const proven = createFewAtOnce({ most: PROVEN_AT_ONCE })
  const unproven = createFewAtOnce({ most: UNPROVEN_AT_ONCE, mostOfOne: UNPROVEN_OF_AN_ADDRESS })

  async function hear(c: Context<AppEnv>, provider: Provider, callback: Callback | undefined, read: Read) {
    const hearing = await hearWebhook(context, { provider, ...(callback ? { callback } : {}), read })
    metrics.heardWebhook(provider.name, hearing.kind)
    if (hearing.kind === 'refused') {
      throw new HoldfastError(
        'WEBHOOK_REFUSED',
        'The signature, the time or the address of this webhook is not good.',
        { cause: new Error(hearing.reason) },
      )
    }
    if (hearing.kind === 'unreadable') {
      const cause = new Error(hearing.reason)
      throw new HoldfastError('INVALID_REQUEST', 'The body cannot be understood.', { cause })
    }
    return c.json({ received: true })
  }

  async function receive(c: Context<AppEnv>, callback?: Callback): Promise<Response> {
    const name = c.req.param('provider') ?? ''
    let isProven = false
    try {
      const provider = providers.get(name)
      // An address that nobody can have been given is as good as a wrong one.
      if (!provider) throw new HoldfastError('NOT_FOUND', 'There is no such provider here.')
      if (callback && !taskIdSchema.safeParse(callback.taskId).success) {
        throw new HoldfastError('WEBHOOK_REFUSED', 'The address of this webhook is not good.')
      }
      const adapterBytes = Math.min(provider.maxWebhookBytes ?? DEFAULT_BYTES, MOST_BYTES)
      const limits = { maxBytes: callback ? adapterBytes : UNPROVEN_BYTES, withinMs: BODY_WITHIN_MS }
      return await hear(c, provider, callback, (understand) => {
        isProven = callback !== undefined
        // Only as long as it is being read and understood: the database is asked outside.
        return (isProven ? proven : unproven)(requests.addressOf(c), async () => {
          const body = await readBytes(c, limits)
          return understand({ url: c.req.url, headers: c.req.header(), body, receivedAtMs: Date.now() })
        })
      })
    } catch (error) {
      if (!(error instanceof HoldfastError) || PROBLEMS[error.code].status >= 500) throw error
      // Counted only now: a vendor may share its address with strangers, and only the secret tells them apart.
      if (!isProven) {
        hangUp(c)
        requests.stranger(c)
      }
      const reason = error.cause instanceof Error ? error.cause.message : error.message
      c.get('log').warn({ provider: providers.has(name) ? name : null, reason }, 'a webhook was refused')
      throw error
    }
  }

  return new Hono<AppEnv>()
    .post('/:provider', (c) => receive(c))
    .post('/:provider/:taskId/:secret', (c) => {
      const { taskId, secret } = c.req.param()
      return receive(c, { taskId, secret })
    })
}

/**
 * Has the connection closed with the answer, where much is still to come: it would all be received, only to be dropped.
 * A stranger may miss the answer by that. Over HTTP/2 only the stream ends, by itself.
 */
function hangUp(c: Context<AppEnv>): void {
  const isSmall = Number(c.req.header('content-length') ?? Number.NaN) <= UNPROVEN_BYTES
  if (c.env?.incoming?.httpVersionMajor === 1 && !isSmall) c.header('Connection', 'close')
}

type Read = Parameters<typeof hearWebhook>[1]['read']
interface Callback {
  taskId: string
  secret: string
}
