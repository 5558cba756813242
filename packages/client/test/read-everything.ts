import { promisifyRequest } from 'idb-keyval'
import type { MemoryStorage } from './memory-storage.ts'

/** All that is kept in a browser, by where it is: what a person would find who looks for traces of a user. */
export async function readEverything(
  indexedDB: IDBFactory,
  localStorage: MemoryStorage,
): Promise<Record<string, unknown>> {
  const found: Record<string, unknown> = Object.fromEntries(localStorage)
  for (const { name = '' } of await indexedDB.databases()) {
    const connection = await promisifyRequest(indexedDB.open(name))
    for (const store of connection.objectStoreNames) {
      const records = connection.transaction(store).objectStore(store)
      const keys = await promisifyRequest(records.getAllKeys())
      for (const key of keys) {
        found[`${name} ${store} ${String(key)}`] = await promisifyRequest(records.get(key))
      }
    }
    connection.close()
  }
  return found
}
