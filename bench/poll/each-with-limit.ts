/** Runs `work` for every item, at most `limit` at a time. Stops at the first failure. */
export async function eachWithLimit<T>(
  items: readonly T[],
  limit: number,
  work: (item: T) => Promise<unknown>,
): Promise<void> {
  let next = 0
  async function lane() {
    while (next < items.length) await work(items[next++] as T)
  }
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, lane))
}
