/**
 * Collects items of concurrent callers and writes them in one go; each caller waits until its item is written.
 * For the peers whose own API writes many at once but whose handlers see one job each.
 */
export function writeTogether<T>(
  write: (items: T[]) => Promise<unknown>,
  { maxItems, maxDelayMs }: { maxItems: number; maxDelayMs: number },
): (item: T) => Promise<void> {
  let items: T[] = []
  let written = Promise.withResolvers<void>()
  let timer: NodeJS.Timeout | undefined

  function send() {
    clearTimeout(timer)
    timer = undefined
    const batch = items
    const { resolve, reject } = written
    items = []
    written = Promise.withResolvers()
    write(batch).then(() => resolve(), reject)
  }

  return (item) => {
    items.push(item)
    const { promise } = written
    if (items.length >= maxItems) send()
    else timer ??= setTimeout(send, maxDelayMs)
    return promise
  }
}
