/** Does the work of several callers one at a time, in the order in which they came. */
export type Mutex = <T>(work: () => Promise<T>) => Promise<T>

export function createMutex(): Mutex {
  let last: Promise<unknown> = Promise.resolve()
  return (work) => {
    const turn = last.then(work)
    // The next one does not care how this one ended.
    last = turn.catch(() => {})
    return turn
  }
}
