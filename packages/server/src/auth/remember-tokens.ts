import { hash } from 'node:crypto'
import type { Authenticate, Identity } from './authenticate.ts'

export interface RememberOptions {
  /** How many tokens are remembered; the oldest are forgotten. @default 10_000 */
  most?: number
  /** How long one is good without being checked again: an issuer may withdraw its key. @default 60_000 */
  forMs?: number
  now?: () => number
}

/**
 * Checks each token once in a while and not with every request: a signature takes a tenth of a millisecond, which under
 * load everybody waits for (12 ms of the median at 64 callers). Never beyond the token's own end. What is refused is
 * not remembered.
 *
 * Tokens are known by their hashes: they may be 16 kB long, and nobody can read them out of our memory.
 */
export function rememberTokens(
  authenticate: Authenticate,
  { most = 10_000, forMs = 60_000, now = Date.now }: RememberOptions = {},
): Authenticate {
  const known = new Map<string, { identity: Identity; until: number }>()

  return async (token) => {
    const name = hash('sha256', token, 'base64')
    const found = known.get(name)
    if (found && now() < found.until) return found.identity
    known.delete(name)
    const identity = await authenticate(token)
    const expiresAt = identity.expiresAt?.getTime() ?? Number.POSITIVE_INFINITY
    known.set(name, { identity, until: Math.min(now() + forMs, expiresAt) })
    for (const oldest of known.keys()) {
      if (known.size <= most) break
      known.delete(oldest)
    }
    return identity
  }
}
