/** Whichever of these names somebody most likely meant; null if none is close. */
export function nearestName(given: string, names: readonly string[]): string | null {
  const close = names
    .map((name) => ({ name, distance: distanceOf(given, name) }))
    // A beginning that long is no accident: migrations, migrate.
    .filter(({ name, distance }) => distance <= 2 || given.startsWith(name.slice(0, 5)))
    .sort((one, other) => one.distance - other.distance)
  return close[0]?.name ?? null
}

/** How many letters have to be put in, left out, replaced or swapped with their neighbour. */
function distanceOf(one: string, other: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: other.length + 1 }, (_, column) => column)
  for (let row = 1; row <= one.length; row++) {
    const next = [row]
    for (let column = 1; column <= other.length; column++) {
      const isSame = one[row - 1] === other[column - 1]
      const isSwapped =
        row > 1 && column > 1 && one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1]
      next[column] = Math.min(
        at(last, column) + 1,
        at(next, column - 1) + 1,
        at(last, column - 1) + (isSame ? 0 : 1),
        isSwapped ? at(beforeLast, column - 2) + 1 : Number.POSITIVE_INFINITY,
      )
    }
    beforeLast = last
    last = next
  }
  return at(last, other.length)
}

function at(row: number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY
}
