import { promisifyRequest } from 'idb-keyval'
import type { Clock } from '../environment/clock.ts'

const STORE = 'kept'
/** A database that takes longer to open must not hold up the network. A late one is used from then on. */
const OPEN_WITHIN_MS = 1_000

/** What idb-keyval calls `UseStore`, and how sure a write must be: `strict` is on disk, not in the system's cache. */
export type Disk = <T>(
  mode: IDBTransactionMode,
  use: (records: IDBObjectStore) => T | PromiseLike<T>,
  durability?: IDBTransactionDurability,
) => Promise<T>

/**
 * A database of one store that gets over a lost connection. Browsers close connections on their own (Safari in the
 * background, Chromium when site data is cleared), after which `transaction()` throws InvalidStateError: then
 * it is opened anew and tried once more.
 *
 * It is opened at the version that it has, and nothing in it is ever deleted for its age: what waits to be sent must
 * outlive an update of the app, and an update that is taken back. Records tell their own shape.
 */
export function openIdbStore(factory: IDBFactory, database: string, clock: Clock): Disk {
  let opening: Promise<IDBDatabase> | undefined

  async function openAt(version?: number): Promise<IDBDatabase> {
    const request = factory.open(database, version)
    request.onupgradeneeded = () => {
      const { result } = request
      if (!result.objectStoreNames.contains(STORE)) result.createObjectStore(STORE)
    }
    const connection = await promisifyRequest(request)
    if (connection.objectStoreNames.contains(STORE)) return connection
    const next = connection.version + 1
    connection.close()
    return openAt(next)
  }

  function open() {
    if (opening) return opening
    const opened = openAt()
    const forget = () => {
      if (opening === opened) opening = undefined
    }
    opened.then((connection) => {
      connection.onclose = forget
      connection.onversionchange = () => {
        forget()
        connection.close()
      }
    }, forget)
    opening = opened
    return opened
  }

  function openInTime(): Promise<IDBDatabase> {
    const opened = open()
    return new Promise((resolve, reject) => {
      const callOff = clock.after(OPEN_WITHIN_MS, () => reject(new Error()))
      opened.then(resolve, reject).finally(callOff)
    })
  }

  return async (mode, use, durability = 'default') => {
    const attempt = async () =>
      use((await openInTime()).transaction(STORE, mode, { durability }).objectStore(STORE))
    try {
      return await attempt()
    } catch (error) {
      if ((error as DOMException).name !== 'InvalidStateError') throw error
      opening = undefined
      return attempt()
    }
  }
}

/**
 * Like idb-keyval's `get`, `update` and `del`, which would bring their own default database along (a hundredth of
 * what this package may weigh).
 */
export const readRecord = (disk: Disk, key: string): Promise<unknown> =>
  disk('readonly', (records) => promisifyRequest(records.get(key)))

/** Read and written in one transaction; resolves when it is on disk. The same value again is not written. */
export const changeRecord = (
  disk: Disk,
  key: string,
  to: (held: unknown) => unknown,
  durability?: IDBTransactionDurability,
): Promise<void> =>
  disk(
    'readwrite',
    async (records) => {
      const held = await promisifyRequest(records.get(key))
      const next = to(held)
      if (next === held) return
      records.put(next, key)
      await promisifyRequest(records.transaction)
    },
    durability,
  )

export const dropRecord = (disk: Disk, key: string): Promise<void> =>
  disk('readwrite', async (records) => {
    records.delete(key)
    await promisifyRequest(records.transaction)
  })

export const recordKeys = (disk: Disk): Promise<IDBValidKey[]> =>
  disk('readonly', (records) => promisifyRequest(records.getAllKeys()))
