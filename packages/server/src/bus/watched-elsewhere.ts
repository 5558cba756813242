import type { BusMessage } from './bus-message.ts'

interface Replica {
  users: Set<string>
  /** An announcement of all of them that has not come to its end yet. */
  coming: Set<string> | null
  heardAt: number
}

/** Who is watched at other replicas, as far as they have said so lately. */
export interface WatchedElsewhere {
  hear(message: BusMessage, now: number): void
  has(userId: string, now: number): boolean
}

/** @param forgetAfterMs a replica that is silent for so long is gone, and nobody watches there any more */
export function createWatchedElsewhere(forgetAfterMs: number): WatchedElsewhere {
  const replicas = new Map<string, Replica>()

  return {
    hear(message, now) {
      for (const [name, { heardAt }] of replicas) if (now - heardAt > forgetAfterMs) replicas.delete(name)
      if (message.kind === 'bye') {
        replicas.delete(message.from)
        return
      }
      const replica = replicas.get(message.from) ?? { users: new Set(), coming: null, heardAt: now }
      replicas.set(message.from, replica)
      replica.heardAt = now
      switch (message.kind) {
        case 'watch':
          for (const user of message.users) replica.users.add(user)
          return
        case 'unwatch':
          for (const user of message.users) replica.users.delete(user)
          return
        case 'watching':
          if (message.isFirst) replica.coming = new Set()
          for (const user of message.users) replica.coming?.add(user)
          if (!message.isLast || !replica.coming) return
          replica.users = replica.coming
          replica.coming = null
      }
    },
    has(userId, now) {
      for (const { users, heardAt } of replicas.values()) {
        if (users.has(userId) && now - heardAt <= forgetAfterMs) return true
      }
      return false
    },
  }
}
