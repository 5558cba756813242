/** SQLSTATE, or the driver's own code, of whatever was thrown. */
export function errorCode(error: unknown): string | undefined {
  return typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string'
    ? error.code
    : undefined
}

const AWAY = new Set([
  // the driver's
  'CONNECT_TIMEOUT',
  'CONNECTION_CLOSED',
  'CONNECTION_DESTROYED',
  'CONNECTION_ENDED',
  // the system's
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ETIMEDOUT',
  'EPIPE',
  'ENOENT',
  // PostgreSQL's: shut down, crashed, starting up, too many connections, read-only after a failover
  '57P01',
  '57P02',
  '57P03',
  '53300',
  '25006',
])

/** Whether the database could not be reached, as opposed to having answered with an error (P5). */
export function isDatabaseAway(error: unknown): boolean {
  const code = errorCode(error)
  return code !== undefined && (AWAY.has(code) || code.startsWith('08') || isLoginRefused(error))
}

/** PostgreSQL is there and lets us not in: the password, the role or the database is wrong, or has become so. */
export function isLoginRefused(error: unknown): boolean {
  const code = errorCode(error)
  return code === '3D000' || code === '28P01' || code === '28000'
}

/**
 * Whether the database would take the same again later: it is away, its disk or memory is full, its files cannot be
 * read, or a limit for time ended the statement.
 */
export function mayPass(error: unknown): boolean {
  const code = errorCode(error) ?? ''
  return (
    isDatabaseAway(error) || isTransient(error) || /^5[38]/.test(code) || code === '57014' || code === '55P03'
  )
}

/** Deadlock or serialisation failure: the transaction was rolled back and may be tried again. */
export function isTransient(error: unknown): boolean {
  const code = errorCode(error)
  return code === '40P01' || code === '40001'
}
