import { promisifyRequest, type UseStore } from 'idb-keyval'
import type { Clock } from '../environment/clock.ts'

/** Raise it when what is kept changes its shape beyond what a reader can tell: everything older is discarded. */
const VERSION = 2
const STORE = 'kept'
/** A database that takes longer to open must not hold up the network. A late one is used from then on. */
const OPEN_WITHIN_MS = 1_000

/**
 * A store for idb-keyval that gets over a lost connection. Browsers close connections on their own (Safari in the
 * background, Chromium when site data is cleared), after which `transaction()` throws InvalidStateError: then
 * it is opened anew and tried once more.
 */
export function openIdbStore(factory: IDBFactory, database: string, clock: Clock): UseStore {
  let opening: Promise<IDBDatabase> | undefined

  function open() {
    if (opening) return opening
    const request = factory.open(database, VERSION)
    request.onupgradeneeded = () => {
      const { result } = request
      for (const name of result.objectStoreNames) result.deleteObjectStore(name)
      result.createObjectStore(STORE)
    }
    const opened = promisifyRequest(request)
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
      const callOff = clock.after(OPEN_WITHIN_MS, () => reject(new DOMException()))
      opened.then(resolve, reject).finally(callOff)
    })
  }

  return async (mode, use) => {
    const attempt = async () => use((await openInTime()).transaction(STORE, mode).objectStore(STORE))
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
export const readRecord = (store: UseStore, key: string): Promise<unknown> =>
  store('readonly', (records) => promisifyRequest(records.get(key)))

/** Read and written in one transaction; resolves when it is on disk. */
export const changeRecord = (store: UseStore, key: string, to: (held: unknown) => unknown): Promise<void> =>
  store('readwrite', async (records) => {
    records.put(to(await promisifyRequest(records.get(key))), key)
    await promisifyRequest(records.transaction)
  })

export const dropRecord = (store: UseStore, key: string): Promise<void> =>
  store('readwrite', async (records) => {
    records.delete(key)
    await promisifyRequest(records.transaction)
  })
