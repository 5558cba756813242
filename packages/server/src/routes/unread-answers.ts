import type { Context } from 'hono'
import { HoldfastError } from '../errors.ts'
import type { AppEnv } from './app-context.ts'

/**
 * What this process holds for a user who asks and does not read. Requests in a minute are no bound for it: an answer may
 * have megabytes, and stays in memory for as long as the caller likes.
 */
export interface UnreadAnswers {
  /** A request of this user has come. Throws `RATE_LIMITED` while too much is unread. */
  enter(c: Context<AppEnv>, userId: string): void
  /** Before a large answer is handed over: others that came at the same moment may have been handed over since. */
  assertRead(userId: string): void
}

type Outgoing = NonNullable<NonNullable<AppEnv['Bindings']>['outgoing']>

/** The largest answer has about 6 MB, and an honest client reads one or two at a time. */
const MOST_UNREAD_BYTES = 16 * 1024 * 1024
const RETRY_AFTER_SECONDS = 5

export function createUnreadAnswers(mostBytes = MOST_UNREAD_BYTES): UnreadAnswers {
  const users = new Map<string, Set<Outgoing>>()

  function leave(userId: string, outgoing: Outgoing): void {
    const own = users.get(userId)
    own?.delete(outgoing)
    if (own?.size === 0) users.delete(userId)
  }

  function unreadOf(userId: string): number {
    let bytes = 0
    for (const outgoing of users.get(userId) ?? []) {
      // Of several on one connection, those that never had their turn are not told that it is gone.
      if (outgoing.req?.socket?.destroyed) leave(userId, outgoing)
      else bytes += outgoing.stream?.writableLength ?? outgoing.writableLength ?? 0
    }
    return bytes
  }

  function assertRead(userId: string): void {
    if (unreadOf(userId) <= mostBytes) return
    throw new HoldfastError('RATE_LIMITED', 'Read the answers to your earlier requests first.', {
      retryAfterSeconds: RETRY_AFTER_SECONDS,
    })
  }

  return {
    assertRead,
    enter(c, userId) {
      assertRead(userId)
      const { outgoing } = c.env ?? {}
      if (!outgoing?.once) return
      const own = users.get(userId) ?? new Set()
      users.set(userId, own)
      own.add(outgoing)
      outgoing.once('close', () => leave(userId, outgoing))
    },
  }
}
