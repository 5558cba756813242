import type { RoundTrip } from './start-postgres-proxy.ts'

/** Statements that begin or end a transaction say nothing about what it is for. */
const OF_A_TRANSACTION = /^\s*(begin|commit|rollback|savepoint|release|start transaction)\b/i

/** The statements that a server sends although there is nothing to do. */
export function readBackground(trips: readonly RoundTrip[]): Set<string> {
  return new Set(
    trips.flatMap(({ statements }) => statements).filter((statement) => !OF_A_TRANSACTION.test(statement)),
  )
}

/** Whether it only looked for work, and found none. */
export function isBackground({ statements, hasRows }: RoundTrip, background: ReadonlySet<string>): boolean {
  return !hasRows && statements.length > 0 && statements.every((statement) => background.has(statement))
}

/**
 * How many round trips came after one another between two times: the most of them that do not overlap. Those that went
 * side by side, on several connections, cost the time of one.
 */
export function countSequential(trips: readonly RoundTrip[], from: number, to: number): number {
  const within = trips.filter(({ startedAt }) => startedAt >= from && startedAt < to)
  let count = 0
  let busyUntil = Number.NEGATIVE_INFINITY
  for (const { startedAt, endedAt } of within.toSorted((a, b) => a.endedAt - b.endedAt)) {
    if (startedAt < busyUntil) continue
    count += 1
    busyUntil = endedAt
  }
  return count
}

/** Round trips further apart than this do not wait for each other. */
const GAP_MS = 50

/** When those began that came one after the other until this time: what leads to it, and not what came by chance before. */
export function startOfChain(trips: readonly RoundTrip[], until: number): number {
  let start = until
  for (const { startedAt, endedAt } of trips.toSorted((a, b) => b.endedAt - a.endedAt)) {
    if (endedAt > until || startedAt > start) continue
    if (start - endedAt > GAP_MS) break
    start = startedAt
  }
  return start
}
