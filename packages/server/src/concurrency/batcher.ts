export interface Batcher<T> {
  add(item: T): void
  /** Writes what is waiting and resolves when nothing is under way any more. */
  flush(): Promise<void>
}

/**
 * Collects what can be written together. A batch that could not be written is given up: it only ever brings a due
 * time forward, so losing it costs a delay and nothing else.
 */
export function createBatcher<T>({
  write,
  onError,
  maxItems = 500,
  maxDelayMs = 25,
}: {
  write: (batch: T[]) => Promise<void>
  onError: (error: unknown) => void
  maxItems?: number
  maxDelayMs?: number
}): Batcher<T> {
  let waiting: T[] = []
  let timer: NodeJS.Timeout | undefined
  const underWay = new Set<Promise<void>>()

  function send(): void {
    clearTimeout(timer)
    timer = undefined
    if (waiting.length === 0) return
    const batch = waiting
    waiting = []
    const written: Promise<void> = write(batch)
      .catch(onError)
      .finally(() => underWay.delete(written))
    underWay.add(written)
  }

  return {
    add(item) {
      waiting.push(item)
      if (waiting.length >= maxItems) send()
      else timer ??= setTimeout(send, maxDelayMs)
    },
    async flush() {
      send()
      await Promise.all(underWay)
    },
  }
}
