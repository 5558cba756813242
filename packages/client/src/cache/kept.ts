import { del, get, type UseStore, update } from 'idb-keyval'

/** Why nothing outlives the page: not there, forbidden, full, does not answer or broken, or what was found is unreadable. */
export type StorageProblem = 'missing' | 'blocked' | 'full' | 'broken' | 'corrupt'

export interface Health {
  storage: 'durable' | 'memory'
  storageProblem: StorageProblem | null
}

/** Records that outlive the page, and when that cannot be had, only the page's own. No failure reaches the app. */
export interface Kept {
  /** Undefined when there is none; one that `isValid` refuses counts as none, and is told as `corrupt`. */
  read<T>(key: string, isValid: (value: unknown) => value is T): Promise<T | undefined>
  /** Read and written in one transaction. True when it is on disk, false when only in memory. */
  change<T>(
    key: string,
    isValid: (value: unknown) => value is T,
    to: (held: T | undefined) => T | undefined,
  ): Promise<boolean>
  drop(key: string): Promise<void>
}

export function createKept(store: UseStore | null, onHealth: (health: Health) => void): Kept {
  const memory = new Map<string, unknown>()

  async function attempt<T>(use: (store: UseStore) => Promise<T>, otherwise: () => T): Promise<T> {
    try {
      if (!store) throw new DOMException('', 'NotFoundError')
      const value = await use(store)
      onHealth({ storage: 'durable', storageProblem: null })
      return value
    } catch (error) {
      onHealth({ storage: 'memory', storageProblem: store ? problemOf(error) : 'missing' })
      return otherwise()
    }
  }

  return {
    async read(key, isValid) {
      const value = await attempt<unknown>(
        (kept) => get(key, kept),
        () => memory.get(key),
      )
      if (value === undefined || isValid(value)) return value
      onHealth({ storage: 'memory', storageProblem: 'corrupt' })
      return undefined
    },
    change(key, isValid, to) {
      const next = (held: unknown) => to(isValid(held) ? held : undefined)
      return attempt(
        async (kept) => {
          await update(key, next, kept)
          return true
        },
        () => {
          memory.set(key, next(memory.get(key)))
          return false
        },
      )
    },
    drop: (key) =>
      attempt(
        (kept) => del(key, kept),
        () => void memory.delete(key),
      ),
  }
}

const PROBLEMS: Record<string, StorageProblem> = {
  QuotaExceededError: 'full',
  SecurityError: 'blocked',
  InvalidStateError: 'blocked',
}

function problemOf(error: unknown): StorageProblem {
  return PROBLEMS[error instanceof DOMException ? error.name : ''] ?? 'broken'
}
