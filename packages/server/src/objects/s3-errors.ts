/** How S3 names what went wrong, such as `AccessDenied`; null for what is not an answer of S3. */
export function s3Code(error: unknown): string | null {
  return error instanceof Error && '$metadata' in error ? error.name : null
}

export function isNotFound(error: unknown): boolean {
  const code = s3Code(error)
  return code === 'NotFound' || code === 'NoSuchKey'
}

/** These tell of the settings: no other answer will come until an operator has changed them. */
const UNUSABLE = new Set([
  'NoSuchBucket',
  'InvalidBucketName',
  'InvalidAccessKeyId',
  'SignatureDoesNotMatch',
  'AuthorizationHeaderMalformed',
  'PermanentRedirect',
])

export function isUnusable(error: unknown): boolean {
  return UNUSABLE.has(s3Code(error) ?? '')
}

/**
 * An error in a few words. The SDK's own carry the request with its headers, so they are not passed on, not even as
 * a cause.
 */
export function s3Failure(what: string, error: unknown): Error {
  const code = s3Code(error) ?? systemCode(error)
  const message = error instanceof Error ? error.message : String(error)
  const said = message.trim() === '' || message === code ? code : `${message} (${code})`
  return Object.assign(new Error(`${what}: ${said}`), { code })
}

function systemCode(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return systemCode(error.errors[0])
  if (!(error instanceof Error)) return 'unknown'
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name
}
