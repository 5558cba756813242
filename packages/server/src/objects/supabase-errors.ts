/** What Supabase said, in a form that can be logged. */
interface SupabaseFailure extends Error {
  code: string
  statusCode: string | null
}

/** Without the error itself, which may carry the request, and without the key, whoever quoted it (S3). */
export function supabaseFailure(what: string, error: Error, serviceKey: string): SupabaseFailure {
  const statusCode = textOf(error, 'statusCode')
  const code = textOf(error, 'code') ?? networkCode(error) ?? statusCode ?? error.name
  const said = `${what}: ${error.message} (${code})`.replaceAll(serviceKey, '[secret]')
  return Object.assign(new Error(said), { code, statusCode })
}

/** There are two ways of not being found: in older versions only the words tell a missing bucket from an object. */
export function isNoSuchKey(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if (textOf(error, 'code') === 'NoSuchKey') return true
  return textOf(error, 'code') === '404' && !/bucket not found/i.test(error.message)
}

/** What `fetch` hides in the cause of its cause. */
function networkCode(error: Error): string | null {
  const original = 'originalError' in error ? error.originalError : undefined
  const cause = original instanceof Error ? original.cause : undefined
  if (cause instanceof AggregateError && cause.errors[0] instanceof Error)
    return textOf(cause.errors[0], 'code')
  return cause instanceof Error ? textOf(cause, 'code') : null
}

function textOf(error: Error, name: string): string | null {
  const value: unknown = Reflect.get(error, name)
  return typeof value === 'string' && value !== '' ? value : null
}
