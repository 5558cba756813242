import { performance } from 'node:perf_hooks'
import { DEFAULT_HOT_TTL_MS, type HotStore, NOTHING_HOT } from './hot-store.ts'

export interface MemoryHotOptions {
  /** How long the progress of a user's tasks is kept after the last report. @default 1 h */
  ttlMs?: number
  now?: () => number
}

interface OfUser {
  progress: Map<string, number>
  writtenAt: number
}

/** For one process. */
export function createMemoryHot(options: MemoryHotOptions = {}): HotStore {
  const { ttlMs = DEFAULT_HOT_TTL_MS, now = () => performance.now() } = options
  const users = new Map<string, OfUser>()
  let prunedAt = now()

  /** Not a timer per user: a look at all of them, now and then. */
  function prune(): void {
    if (now() - prunedAt < ttlMs / 4) return
    prunedAt = now()
    for (const [userId, { writtenAt }] of users) if (now() - writtenAt >= ttlMs) users.delete(userId)
  }

  return {
    isShared: false,
    async write(reports) {
      prune()
      for (const { userId, taskId, progress } of reports) {
        const ofUser = users.get(userId) ?? { progress: new Map(), writtenAt: 0 }
        users.set(userId, ofUser)
        if (progress > (ofUser.progress.get(taskId) ?? -1)) ofUser.progress.set(taskId, progress)
        ofUser.writtenAt = now()
      }
    },
    async read(userId) {
      const ofUser = users.get(userId)
      return ofUser && now() - ofUser.writtenAt < ttlMs ? new Map(ofUser.progress) : NOTHING_HOT
    },
    async forget(tasks) {
      for (const { userId, taskId } of tasks) {
        const ofUser = users.get(userId)
        ofUser?.progress.delete(taskId)
        if (ofUser?.progress.size === 0) users.delete(userId)
      }
    },
    close: async () => users.clear(),
  }
}
