import { backoff } from '../connection/backoff.ts'
import { type Clock, sleep } from '../environment/clock.ts'
import { randomId } from '../environment/random-id.ts'
import { HoldfastError } from '../holdfast-error.ts'
import type { Http } from '../transport/http.ts'

const TRIES = 3

export interface PostOnceOptions {
  http: Http
  clock: Clock
  random(): number
  session: AbortSignal
}

/**
 * Posts until an answer comes, three times at most and always under the same key: when only the answer was lost,
 * the server finds the key and does nothing twice.
 */
export async function postOnce<T>(
  options: PostOnceOptions,
  path: string,
  body?: unknown,
  key = randomId(),
): Promise<T> {
  const { http, clock, random, session } = options
  const headers = { 'Idempotency-Key': key }
  for (let attempt = 0; ; attempt++) {
    try {
      return await http.json<T>('POST', path, { body, headers })
    } catch (error) {
      const passing =
        error instanceof HoldfastError && (error.code === 'NETWORK' || error.code === 'UNAVAILABLE')
      if (!passing || attempt === TRIES - 1) throw error
      await sleep(clock, Math.max(error.retryAfterMs, backoff(attempt, random)), session)
    }
  }
}
