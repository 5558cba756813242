/** The most that fell into any window of `windowMs`, wherever it begins. */
export function mostInWindow(times: readonly number[], windowMs: number): number {
  const sorted = times.toSorted((a, b) => a - b)
  let most = 0
  let from = 0
  for (const [index, time] of sorted.entries()) {
    while (time - (sorted[from] ?? time) >= windowMs) from++
    most = Math.max(most, index - from + 1)
  }
  return most
}

/** How many fell into each whole bin of `binMs`, from the first to the last. */
export function countPerBin(times: readonly number[], binMs: number): number[] {
  const start = Math.min(...times)
  const bins = new Array<number>(Math.floor((Math.max(...times) - start) / binMs)).fill(0)
  for (const time of times) {
    const bin = Math.floor((time - start) / binMs)
    // The last one is cut off by the end of the work and says nothing.
    if (bin < bins.length) bins[bin] = (bins[bin] ?? 0) + 1
  }
  return bins
}

export function percentile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN
}
