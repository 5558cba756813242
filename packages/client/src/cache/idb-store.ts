import { promisifyRequest, type UseStore } from 'idb-keyval'

/**
 * A store for idb-keyval that gets over a lost connection. Browsers close connections on their own (Safari in the
 * background, Chromium when site data is cleared), after which `transaction()` throws InvalidStateError: then
 * it is opened anew and tried once more.
 */
export function openIdbStore(factory: IDBFactory, database: string, storeName: string): UseStore {
  let opening: Promise<IDBDatabase> | undefined

  function open() {
    if (opening) return opening
    const request = factory.open(database)
    request.onupgradeneeded = () => request.result.createObjectStore(storeName)
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

  return async (mode, use) => {
    const attempt = async () => use((await open()).transaction(storeName, mode).objectStore(storeName))
    try {
      return await attempt()
    } catch (error) {
      if (!(error instanceof DOMException) || error.name !== 'InvalidStateError') throw error
      opening = undefined
      return attempt()
    }
  }
}
