interface Waiting<T, R> {
  item: T
  resolve(result: R | undefined): void
  reject(error: unknown): void
}

/**
 * Runs `work` for many items at a time. An item alone goes at once; while one batch is under way the next gathers. A
 * batch that fails is done again one by one. `work` returns what became of each item, by `id`; undefined: nothing did.
 */
export function gather<T extends { id: string }, R extends { id: string }>(
  work: (items: T[]) => Promise<readonly R[]>,
  maxItems = 500,
): (item: T) => Promise<R | undefined> {
  const waiting: Waiting<T, R>[] = []
  let isBusy = false

  async function runOne({ item, resolve, reject }: Waiting<T, R>): Promise<void> {
    await work([item]).then(([result]) => resolve(result), reject)
  }

  async function runAll(): Promise<void> {
    while (waiting.length > 0) {
      const batch = waiting.splice(0, maxItems)
      try {
        const results = new Map((await work(batch.map(({ item }) => item))).map((row) => [row.id, row]))
        for (const { item, resolve } of batch) resolve(results.get(item.id))
      } catch {
        // One item may be at fault; the others must not suffer for it.
        for (const each of batch) await runOne(each)
      }
    }
    isBusy = false
  }

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject })
      if (isBusy) return
      isBusy = true
      setImmediate(() => void runAll())
    })
}
