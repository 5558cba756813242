/** What Supabase said, in a form that can be logged. */
interface SupabaseFailure extends Error {
  code: string
  statusCode: string | null
}

/** Without the error itself, which may carry the request, and without the key, should a vendor quote it. */
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

/** What is wrong with the place or the key, as far as this answer tells; null if it tells nothing of them. */
export function placeProblem(error: Error): 'bucket' | 'key' | null {
  const code = textOf(error, 'code')
  const statusCode = textOf(error, 'statusCode')
  if (code === 'NoSuchBucket' || /bucket not found/i.test(error.message)) return 'bucket'
  if (code === 'AccessDenied' || code === 'InvalidJWT') return 'key'
  return statusCode === '401' || statusCode === '403' ? 'key' : null
}

/** Whether the bucket takes other files, but not this one: too large, or of a type that it does not allow. */
export function isRefusedFile(error: Error): boolean {
  const code = textOf(error, 'code')
  return code === 'EntityTooLarge' || code === 'InvalidMimeType' || textOf(error, 'statusCode') === '413'
}

/** Whether the service itself failed: another try may find it well. */
export function isServiceFailure(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const status: unknown = Reflect.get(error, 'status')
  return (typeof status === 'number' && status >= 500) || /^5\d\d$/.test(textOf(error, 'statusCode') ?? '')
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
