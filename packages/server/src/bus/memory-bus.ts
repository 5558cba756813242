import type { WorkHint } from '../engine/work-queue.ts'
import type { Bus, Hint } from './bus.ts'

/** What a bus over several replicas needs besides. */
export interface LocalBus extends Bus {
  /** Anything may be due. */
  publishAnyWork(): void
}

/** For one process. */
export function createMemoryBus(): LocalBus {
  const listeners = new Map<string, Set<(hint: Hint) => void>>()
  const workers = new Set<(queue: WorkHint | null) => void>()

  return {
    publish(userId, hint = 'changed', reach = 'all') {
      if (reach === 'elsewhere') return
      for (const listener of listeners.get(userId) ?? []) listener(hint)
    },
    subscribe(userId, listener) {
      const ofUser = listeners.get(userId) ?? new Set()
      listeners.set(userId, ofUser)
      ofUser.add(listener)
      return () => {
        ofUser.delete(listener)
        if (ofUser.size === 0 && listeners.get(userId) === ofUser) listeners.delete(userId)
      }
    },
    isWatched: (userId) => listeners.has(userId),
    publishWork(hint, reach = 'all') {
      if (reach === 'elsewhere') return
      for (const worker of workers) worker(hint)
    },
    publishAnyWork() {
      for (const worker of workers) worker(null)
    },
    onWork(listener) {
      workers.add(listener)
      return () => workers.delete(listener)
    },
    publishOpened() {
      // There is no other replica.
    },
    onOpened: () => () => {},
    async close() {
      listeners.clear()
      workers.clear()
    },
  }
}
