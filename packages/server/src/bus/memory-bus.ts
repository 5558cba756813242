import type { Bus } from './bus.ts'

/** For one process. */
export function createMemoryBus(): Bus {
  const listeners = new Map<string, Set<() => void>>()

  return {
    publish(userId) {
      for (const listener of listeners.get(userId) ?? []) listener()
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
    close: async () => listeners.clear(),
  }
}
