/**
 * Collects what comes while a batch is under way, or within the same turn of the event loop, and runs it as the next
 * batch. It needs no timer: alone, an item goes at once. `run` must not reject.
 */
export function createBatcher<T, R>(run: (items: T[]) => Promise<R[]>): (item: T) => Promise<R> {
  let next: T[] = []
  let last: Promise<R[]> = Promise.resolve([])
  return async (item) => {
    const index = next.push(item) - 1
    if (index === 0) {
      last = last.then(() => {
        const items = next
        next = []
        return run(items)
      })
    }
    return (await last)[index] as R
  }
}
