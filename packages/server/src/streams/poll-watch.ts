import type { Bus } from '../bus/bus.ts'

/** Clients that ask again and again instead of holding a stream watch their tasks, too. */
export interface PollWatch {
  /** A client of this user has just asked what is new. */
  asked(userId: string): void
  close(): void
}

export interface PollWatchOptions {
  bus: Pick<Bus, 'subscribe'>
  /** The user was not watched by polls until now. */
  onWatched(userId: string): void
  now?: () => number
}

/** At least so long after each time, however often they ask. */
const SHORTEST_MS = 15_000
/** Who asks less often than this is not waiting for anything. */
const LONGEST_INTERVAL_MS = 90_000
/** A client whose next question is a little late still watches. */
const PATIENCE = 1.5

interface Asking {
  askedAt: number
  /** Of `bus.subscribe`, which tells the other replicas as well; null when it is over. */
  unwatch: (() => void) | null
  timer: NodeJS.Timeout
}

export function createPollWatch({
  bus,
  onWatched,
  now = () => performance.now(),
}: PollWatchOptions): PollWatch {
  const users = new Map<string, Asking>()

  /** Watches no more, but remembers for a while when it was asked last: that is how a slow rhythm is known. */
  function expire(userId: string, asking: Asking): void {
    asking.unwatch?.()
    asking.unwatch = null
    asking.timer = setTimeout(() => users.delete(userId), LONGEST_INTERVAL_MS)
    asking.timer.unref()
  }

  return {
    asked(userId) {
      const at = now()
      const before = users.get(userId)
      clearTimeout(before?.timer)
      const intervalMs = before ? at - before.askedAt : 0
      const watchMs =
        intervalMs > LONGEST_INTERVAL_MS ? SHORTEST_MS : Math.max(SHORTEST_MS, intervalMs * PATIENCE)
      const asking: Asking = {
        askedAt: at,
        // There is nothing to tell: the next question brings it.
        unwatch: before?.unwatch ?? bus.subscribe(userId, () => {}),
        timer: setTimeout(() => expire(userId, asking), watchMs),
      }
      asking.timer.unref()
      users.set(userId, asking)
      if (!before?.unwatch) onWatched(userId)
    },
    close() {
      for (const { timer, unwatch } of users.values()) {
        clearTimeout(timer)
        unwatch?.()
      }
      users.clear()
    },
  }
}
