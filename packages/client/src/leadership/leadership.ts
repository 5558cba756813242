/**
 * Which tab of the browser talks to the server. One interface; this release knows the Web Lock, and "every tab for
 * itself" where there is none.
 */
export interface Leadership {
  start(events: LeadershipEvents): void
  /** Gives up the lead; safe to call twice. */
  stop(): void
}

export interface LeadershipEvents {
  /** `exclusive`: no other tab leads. Where that cannot be had no tab may hold a stream open: browsers allow six connections per origin. */
  lead(exclusive: boolean): void
  /** Another tab leads. */
  follow(): void
  /** This page is put away, perhaps for good. */
  rest(): void
}

export interface WebLockOptions {
  locks: Pick<LockManager, 'request'>
  name: string
  page: EventTarget | null
}

/** The lock frees itself when its tab closes or crashes, and goes to the tab that has waited longest. */
export function createWebLockLeadership({ locks, name, page }: WebLockOptions): Leadership {
  let stopContending: (() => void) | undefined

  function contend(events: LeadershipEvents) {
    const abort = new AbortController()
    const stopped = new Promise<void>((resolve) => abort.signal.addEventListener('abort', () => resolve()))
    stopContending = () => abort.abort()

    const hold = (): Promise<void> | undefined => {
      if (abort.signal.aborted) return
      events.lead(true)
      return stopped
    }
    // Asking first whether it is free tells a follower from a leader that merely has not been granted it yet.
    locks
      .request(name, { ifAvailable: true }, (lock) => {
        if (lock) return hold()
        if (!abort.signal.aborted) events.follow()
        return undefined
      })
      .then(() => {
        if (!abort.signal.aborted) return locks.request(name, { signal: abort.signal }, hold)
        return undefined
      })
      .catch(() => {
        // Aborted while waiting: stopped on purpose. Otherwise locks are forbidden here (sandboxed frames).
        if (!abort.signal.aborted) events.lead(false)
      })
  }

  let undo: (() => void) | undefined
  return {
    start(events) {
      // A page in the back/forward cache runs no code but would keep the lock, and with it the others waiting.
      const hide = () => {
        stopContending?.()
        events.rest()
      }
      const show = (event: Event) => {
        if ((event as PageTransitionEvent).persisted) contend(events)
      }
      page?.addEventListener('pagehide', hide)
      page?.addEventListener('pageshow', show)
      undo = () => {
        page?.removeEventListener('pagehide', hide)
        page?.removeEventListener('pageshow', show)
      }
      contend(events)
    },
    stop() {
      undo?.()
      stopContending?.()
    },
  }
}

/** Without locks, or without a channel to tell the others: every tab leads for itself. */
export function createSoloLeadership(): Leadership {
  return { start: (events) => events.lead(false), stop() {} }
}
