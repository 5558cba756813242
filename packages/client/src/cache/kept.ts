import { changeRecord, type Disk, dropRecord, readRecord } from './idb-store.ts'

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
  /**
   * Read and written in one transaction. True when it is on disk, false when only in memory. What could not be written
   * is done again over what the disk says, at each read and with the next write: `to` may be called more than once.
   */
  change(to: (held: T | undefined) => T | undefined): Promise<boolean>
  drop(): Promise<void>
}

export interface KeepOptions {
  /** What must outlive a power failure waits for the disk itself. @default 'default' */
  durability?: IDBTransactionDurability
  /** Each change says all there is to say, so that of those which the disk would not take only the last counts. */
  isWhole?: boolean
}

export type Keep = <T>(
  key: string,
  isValid: (value: unknown) => value is T,
  options?: KeepOptions,
) => KeptRecord<T>

export function createKeep(store: Disk | null, onHealth: (health: Health) => void): Keep {
  const tell = (storageProblem: StorageProblem | null) =>
    onHealth({ storage: storageProblem ? 'memory' : 'durable', storageProblem })

  async function attempt<T>(use: (store: Disk) => Promise<T>, otherwise: () => T): Promise<T> {
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

  return (key, isValid, { durability, isWhole } = {}) => {
    type Change = (held: unknown) => unknown
    /** What the disk said last. Where there is none, this is the record. */
    let seen: unknown
    /** Changes that the disk would not take, oldest first. */
    let unwritten: Change[] = []
    /** One change at a time, or two could both do again what the disk would not take. */
    let turn: Promise<unknown> = Promise.resolve()
    const over = (held: unknown, changes: readonly Change[]) =>
      changes.reduce((value, change) => change(value), held)

    function inTurn(work: () => Promise<boolean>): Promise<boolean> {
      const done = turn.then(work)
      // A change that throws is its caller's: those after it are made.
      turn = done.catch(() => {})
      return done
    }

    async function write(...changes: Change[]): Promise<boolean> {
      return attempt(
        async (disk) => {
          let next: unknown
          const to = (held: unknown) => {
            seen = held
            next = over(held, [...unwritten, ...changes])
            return next
          }
          await changeRecord(disk, key, to, durability)
          seen = next
          unwritten = []
          return true
        },
        () => {
          const waiting = isWhole && changes[0] ? changes : [...unwritten, ...changes]
          const value = over(seen, waiting)
          if (store) unwritten = waiting
          else seen = value
          return false
        },
      )
    }

    return {
      async read() {
        // There may be room again for what the disk would not take; that reads it, too.
        if (store && unwritten.length > 0) await inTurn(() => write())
        else {
          await attempt<unknown>(
            async (disk) => {
              seen = await readRecord(disk, key)
            },
            () => {},
          )
        }
        const value = over(seen, unwritten)
        if (value === undefined || isValid(value)) return value
        tell('corrupt')
        return undefined
      },
      change(to) {
        const change: Change = (held) => to(isValid(held) ? held : undefined)
        return inTurn(() => write(change))
      },
      drop() {
        seen = undefined
        unwritten = []
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
