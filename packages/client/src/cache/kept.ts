import type { UseStore } from 'idb-keyval'
import { changeRecord, dropRecord, readRecord } from './idb-store.ts'

/** Why nothing outlives the page: not there, forbidden, full, does not answer or broken, or what was found is unreadable. */
export type StorageProblem = 'missing' | 'blocked' | 'full' | 'broken' | 'corrupt'

export interface Health {
  storage: 'durable' | 'memory'
  storageProblem: StorageProblem | null
}

/** One record that outlives the page, or where that cannot be had only lasts as long. No failure reaches the app. */
export interface KeptRecord<T> {
  /** Undefined when there is none; one that is not valid counts as none, and is told as `corrupt`. */
  read(): Promise<T | undefined>
  /** Read and written in one transaction. True when it is on disk, false when only in memory. */
  change(to: (held: T | undefined) => T | undefined): Promise<boolean>
  drop(): Promise<void>
}

export type Keep = <T>(key: string, isValid: (value: unknown) => value is T) => KeptRecord<T>

export function createKeep(store: UseStore | null, onHealth: (health: Health) => void): Keep {
  const tell = (storageProblem: StorageProblem | null) =>
    onHealth({ storage: storageProblem ? 'memory' : 'durable', storageProblem })

  async function attempt<T>(use: (store: UseStore) => Promise<T>, otherwise: () => T): Promise<T> {
    try {
      if (store) {
        const value = await use(store)
        tell(null)
        return value
      }
      tell('missing')
    } catch (error) {
      tell(PROBLEMS[(error as DOMException).name] ?? 'broken')
    }
    return otherwise()
  }

  return (key, isValid) => {
    let memory: unknown
    return {
      async read() {
        const value = await attempt<unknown>(
          (disk) => readRecord(disk, key),
          () => memory,
        )
        if (value === undefined || isValid(value)) return value
        tell('corrupt')
        return undefined
      },
      change(to) {
        const next = (held: unknown) => to(isValid(held) ? held : undefined)
        return attempt(
          async (disk) => {
            await changeRecord(disk, key, next)
            return true
          },
          () => {
            memory = next(memory)
            return false
          },
        )
      },
      drop() {
        memory = undefined
        return attempt(
          (disk) => dropRecord(disk, key),
          () => {},
        )
      },
    }
  }
}

const PROBLEMS: Record<string, StorageProblem | undefined> = {
  QuotaExceededError: 'full',
  SecurityError: 'blocked',
  InvalidStateError: 'blocked',
}
