/**
 * For each layer, from far to near, and each column: the row from which a nearer layer hides it. Painting only
 * what stays visible halves the work.
 */
export function visibleUntil(crests: Float32Array[], bottom: number): Float32Array[] {
  const hidden: Float32Array[] = []
  let below = new Float32Array(crests[0]?.length ?? 0).fill(bottom)
  for (const crest of crests.toReversed()) {
    hidden.unshift(below)
    // The row with the nearer crest in it is only partly covered.
    const shownUntil = below
    below = crest.map((y, x) => Math.min(shownUntil[x] as number, Math.floor(y) + 1))
  }
  return hidden
}
