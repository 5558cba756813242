import type { LogLine } from '../../e2e/support/holdfast-process.ts'

/** One stream, from the server's log. */
export interface StreamInLog {
  browser: string
  epoch: number
  openedAt: number
  /** Infinity: still open. */
  closedAt: number
  how: string | null
}

/** The lines of one request carry the same trace id. */
export function readStreams(log: readonly LogLine[], userId: string): StreamInLog[] {
  const streams = new Map<unknown, StreamInLog>()
  // One that ended before it had begun is logged in that order.
  const closedEarly = new Map<unknown, LogLine>()
  for (const line of log) {
    if (line.userId !== userId) continue
    const at = Date.parse(String(line.time))
    if (line.msg === 'stream opened') {
      const early = closedEarly.get(line.traceId)
      streams.set(line.traceId, {
        browser: String(line.browser),
        epoch: Number(line.epoch),
        openedAt: at,
        closedAt: early ? at : Number.POSITIVE_INFINITY,
        how: early ? String(early.how) : null,
      })
    } else if (line.msg === 'stream closed') {
      const stream = streams.get(line.traceId)
      if (stream) {
        stream.closedAt = at
        stream.how = String(line.how)
      } else closedEarly.set(line.traceId, line)
    }
  }
  return [...streams.values()]
}

export const isOpen = ({ closedAt }: StreamInLog) => closedAt === Number.POSITIVE_INFINITY

/** For how long two of them were open at the same time, at the most. */
export function longestOverlap(streams: readonly StreamInLog[], until: number): number {
  let longest = 0
  for (const [index, one] of streams.entries()) {
    for (const other of streams.slice(index + 1)) {
      const from = Math.max(one.openedAt, other.openedAt)
      const to = Math.min(one.closedAt, other.closedAt, until)
      longest = Math.max(longest, to - from)
    }
  }
  return longest
}
