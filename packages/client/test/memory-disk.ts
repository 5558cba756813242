import type { Disk } from '../src/cache/idb-store.ts'

/** A database of one store, for tests that need thousands of transactions: one at a time, as in a browser. */
export function createMemoryDisk() {
  const records = new Map<IDBValidKey, unknown>()
  let isFull = false
  let turn: Promise<unknown> = Promise.resolve()

  function request<T>(result: T): IDBRequest<T> {
    const pending = { result } as { result: T; onsuccess?: () => void }
    queueMicrotask(() => pending.onsuccess?.())
    return pending as unknown as IDBRequest<T>
  }

  const disk: Disk = (_, use) => {
    const store = {
      get: (key: IDBValidKey) => request(structuredClone(records.get(key))),
      put(value: unknown, key: IDBValidKey) {
        if (isFull) throw new DOMException('no room', 'QuotaExceededError')
        records.set(key, structuredClone(value))
      },
      delete: (key: IDBValidKey) => records.delete(key),
      getAllKeys: () => request([...records.keys()]),
      get transaction() {
        return request(undefined)
      },
    }
    const done = turn.then(() => use(store as unknown as IDBObjectStore))
    turn = done.then(
      () => {},
      () => {},
    )
    return done
  }

  return {
    disk,
    records,
    setFull(full: boolean) {
      isFull = full
    },
  }
}
