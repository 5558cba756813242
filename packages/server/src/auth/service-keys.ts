import { createHash, timingSafeEqual } from 'node:crypto'

const SHORTEST_KEY = 32

/**
 * The keys with which an app's own backend acts for its users. Several may be good at once, so that a new one can be
 * brought in before the old one is taken out. Compared in constant time, every key each time.
 */
export function createServiceKeys(keys: readonly string[]): (token: string) => boolean {
  for (const key of keys) {
    if (key.length < SHORTEST_KEY) {
      throw new Error(
        `A service key must have at least ${SHORTEST_KEY} characters. Make one with: openssl rand -base64 32`,
      )
    }
  }
  const digests = keys.map(digest)
  return (token) => {
    const given = digest(token)
    let isKnown = false
    for (const known of digests) isKnown = timingSafeEqual(known, given) || isKnown
    return isKnown
  }
}

/** Of one length, whatever the key's: only then can they be compared without telling how long they are. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
