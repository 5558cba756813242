import { createHmac, timingSafeEqual } from 'node:crypto'
import { isObjectKey } from './object-key.ts'

/** `files/<key>?expires=…&signature=…`, which nobody can change or prolong without the secret. */
export function signPath(secret: string, key: string, expiresAtSeconds: number): string {
  const signature = signatureOf(secret, key, String(expiresAtSeconds)).toString('base64url')
  return `files/${key}?expires=${expiresAtSeconds}&signature=${signature}`
}

export interface SignedPath {
  key: string
  expires: string
  signature: string
}

export type PathVerdict = { kind: 'valid'; remainingMs: number } | { kind: 'forged' } | { kind: 'expired' }

export function verifyPath(
  secret: string,
  { key, expires, signature }: SignedPath,
  nowMs: number,
): PathVerdict {
  if (!isObjectKey(key) || !/^\d{1,12}$/.test(expires)) return { kind: 'forged' }
  const given = Buffer.from(signature, 'base64url')
  const expected = signatureOf(secret, key, expires)
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return { kind: 'forged' }
  const remainingMs = Number(expires) * 1_000 - nowMs
  return remainingMs > 0 ? { kind: 'valid', remainingMs } : { kind: 'expired' }
}

/**
 * When a URL made now ends, in seconds: not before the wanted time, and the same answer for a while, so that the same
 * object keeps the same URL and browsers can use what they have.
 */
export function steadyExpiry(nowMs: number, expiresInMs: number): number {
  const windowSeconds = steadyWindowSeconds(expiresInMs)
  return Math.ceil((nowMs + expiresInMs) / 1_000 / windowSeconds) * windowSeconds
}

/** A quarter of the wanted life, at most an hour. */
export function steadyWindowSeconds(expiresInMs: number): number {
  return Math.min(3_600, Math.max(1, Math.floor(expiresInMs / 4_000)))
}

// Neither part can contain a line break, so no two pairs are signed alike.
function signatureOf(secret: string, key: string, expires: string): Buffer {
  return createHmac('sha256', secret).update(`${expires}\n${key}`).digest()
}
