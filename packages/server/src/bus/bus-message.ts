import type { WorkHint } from '../engine/work-queue.ts'
import type { Hint, OpenedStream } from './bus.ts'

/** What replicas tell each other. Ids of users only: the truth is in the database. */
export type BusMessage =
  | { from: string; kind: Hint; users: string[] }
  /** There is work to look for, in these queues; in any, where an earlier release says so. */
  | { from: string; kind: 'work'; users: string[]; queues?: WorkHint[] }
  /** Who is watched at the sender: all of them, from `isFirst` to `isLast`. */
  | { from: string; kind: 'watching'; users: string[]; isFirst: boolean; isLast: boolean }
  | { from: string; kind: 'watch' | 'unwatch'; users: string[] }
  /** New here: tell me who is watched. */
  | { from: string; kind: 'hello'; users: string[] }
  /** The sender could not speak for a while: anything may have changed. */
  | { from: string; kind: 'missed'; users: string[] }
  | { from: string; kind: 'bye'; users: string[] }
  /** Streams of browsers that are open at the sender. */
  | { from: string; kind: 'opened'; users: string[]; streams: OpenedStream[] }

const KINDS = [
  'changed',
  'progressed',
  'work',
  'watching',
  'watch',
  'unwatch',
  'hello',
  'missed',
  'bye',
  'opened',
]

/** Null for what is none: another version of this server may speak otherwise. */
export function readBusMessage(text: string): BusMessage | null {
  try {
    const value = JSON.parse(text)
    const isOne =
      typeof value?.from === 'string' &&
      KINDS.includes(value.kind) &&
      Array.isArray(value.users) &&
      value.users.every((user: unknown) => typeof user === 'string') &&
      (value.queues === undefined || (Array.isArray(value.queues) && value.queues.every(isWorkHint))) &&
      (value.kind !== 'opened' || (Array.isArray(value.streams) && value.streams.every(isOpenedStream)))
    return isOne ? value : null
  } catch {
    return null
  }
}

function isWorkHint(value: Partial<WorkHint> | null): boolean {
  return (
    typeof value?.kind === 'string' &&
    typeof value.of === 'string' &&
    (value.inMs === undefined || Number.isFinite(value.inMs))
  )
}

function isOpenedStream(value: Partial<OpenedStream> | null): boolean {
  return (
    typeof value?.userId === 'string' &&
    typeof value.browserId === 'string' &&
    Number.isSafeInteger(value.epoch)
  )
}

/** Items in pieces whose JSON has at most `maxBytes`; one empty piece for none. */
export function inPieces<T>(items: readonly T[], maxBytes: number): T[][] {
  const pieces: T[][] = [[]]
  let used = 0
  for (const item of items) {
    // What has to be escaped included, and a comma.
    const bytes = Buffer.byteLength(JSON.stringify(item)) + 1
    if (used + bytes > maxBytes && used > 0) {
      pieces.push([])
      used = 0
    }
    pieces.at(-1)?.push(item)
    used += bytes
  }
  return pieces
}
