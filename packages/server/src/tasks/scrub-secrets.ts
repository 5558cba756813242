/**
 * Names under which people put secrets into request parameters (F15). Compared without case and separators, so
 * `apiKey`, `api_key` and `API-KEY` are one. These must be the whole name: `style_token` is no secret.
 */
const SECRET_NAMES = new Set([
  'auth',
  'bearer',
  'cookie',
  'credential',
  'idtoken',
  'jwt',
  'pwd',
  'setcookie',
  'token',
])

/** These also with something before them: `openai_api_key`, `db_password`. */
const SECRET_ENDINGS = [
  'accesskey',
  'accesskeyid',
  'accesstoken',
  'apikey',
  'apitoken',
  'authorization',
  'authtoken',
  'bearertoken',
  'credentials',
  'passphrase',
  'passwd',
  'password',
  'privatekey',
  'refreshtoken',
  'secret',
  'secretkey',
  'sessiontoken',
]

function isSecretName(name: string): boolean {
  const plain = name.toLowerCase().replace(/[-_.\s]/g, '')
  return SECRET_NAMES.has(plain) || SECRET_ENDINGS.some((ending) => plain.endsWith(ending))
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
