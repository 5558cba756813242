/** What a browser holds, by where it is. */
export type Stored = Record<string, string>

/** Runs in the page: all that its origin keeps, and all that this page shows. What somebody finds who looks for traces. */
export async function readStored(): Promise<Stored> {
  const answerOf = <T>(request: IDBRequest<T>) =>
    new Promise<T>((resolve, reject) => {
      request.onsuccess = () => resolve(request.result)
      request.onerror = () => reject(request.error)
    })
  const found: Stored = { document: document.documentElement.outerHTML, title: document.title }
  for (const [key, value] of Object.entries(localStorage)) found[`localStorage ${key}`] = value
  for (const [key, value] of Object.entries(sessionStorage)) found[`sessionStorage ${key}`] = value
  for (const { name = '' } of await indexedDB.databases()) {
    const database = await answerOf(indexedDB.open(name))
    for (const store of database.objectStoreNames) {
      const records = database.transaction(store).objectStore(store)
      const [keys, values] = await Promise.all([answerOf(records.getAllKeys()), answerOf(records.getAll())])
      for (const [index, key] of keys.entries()) {
        found[`indexedDB ${name} ${store} ${String(key)}`] = JSON.stringify(values[index])
      }
    }
    database.close()
  }
  return found
}

/** Where one of the traces is found, in the name or in what is there. */
export function placesOf(traces: readonly string[], stored: Stored): string[] {
  return Object.entries(stored)
    .filter(([place, text]) => traces.some((trace) => place.includes(trace) || text.includes(trace)))
    .map(([place]) => place)
}
