type Items = Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>

/** A dead tab writes nothing any more: above all it does not take its name off the lease. */
export function createSimulatedStorage(real: Items, death: AbortSignal): Items {
  return {
    getItem: (key) => real.getItem(key),
    setItem(key, value) {
      if (!death.aborted) real.setItem(key, value)
    },
    removeItem(key) {
      if (!death.aborted) real.removeItem(key)
    },
  }
}

/** A dead tab's connections are closed, and it gets no new ones. */
export function createSimulatedDatabases(real: IDBFactory, death: AbortSignal): IDBFactory {
  const connections = new Set<IDBDatabase>()
  death.addEventListener('abort', () => {
    for (const connection of connections) connection.close()
  })
  return {
    cmp: (first, second) => real.cmp(first, second),
    databases: () => real.databases(),
    deleteDatabase: (name) => real.deleteDatabase(name),
    open(name, version) {
      // A request that nobody will ever answer.
      if (death.aborted) return new EventTarget() as IDBOpenDBRequest
      const request = real.open(name, version)
      request.addEventListener('success', () => {
        connections.add(request.result)
        if (death.aborted) request.result.close()
      })
      return request
    },
  }
}
