/**
 * Names under which people put secrets into request parameters (F15). Compared without case, dashes and
 * underscores, so `apiKey`, `api_key` and `API-KEY` are one.
 */
const SECRET_NAMES = new Set([
  'accesskey',
  'accesskeyid',
  'accesstoken',
  'apikey',
  'apisecret',
  'apitoken',
  'auth',
  'authorization',
  'authtoken',
  'bearer',
  'bearertoken',
  'clientsecret',
  'cookie',
  'credential',
  'credentials',
  'idtoken',
  'jwt',
  'password',
  'passphrase',
  'passwd',
  'privatekey',
  'pwd',
  'refreshtoken',
  'secret',
  'secretaccesskey',
  'secretkey',
  'sessiontoken',
  'setcookie',
  'token',
  'xapikey',
])

function isSecretName(name: string): boolean {
  return SECRET_NAMES.has(name.toLowerCase().replace(/[-_\s]/g, ''))
}

/** A deep copy without the entries whose names say that they are secrets. They are never stored, logged or sent on. */
export function scrubSecrets<T>(value: T): T
export function scrubSecrets(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => scrubSecrets(item))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => !isSecretName(name))
      .map(([name, item]) => [name, scrubSecrets(item)]),
  )
}
