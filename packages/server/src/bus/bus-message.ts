import type { Hint } from './bus.ts'

/** What replicas tell each other. Ids of users only: the truth is in the database. */
export type BusMessage =
  | { from: string; kind: Hint; users: string[] }
  /** There is work to look for; of nobody in particular. */
  | { from: string; kind: 'work'; users: string[] }
  /** Who is watched at the sender: all of them, from `isFirst` to `isLast`. */
  | { from: string; kind: 'watching'; users: string[]; isFirst: boolean; isLast: boolean }
  | { from: string; kind: 'watch' | 'unwatch'; users: string[] }
  /** New here: tell me who is watched. */
  | { from: string; kind: 'hello'; users: string[] }
  | { from: string; kind: 'bye'; users: string[] }

const KINDS = ['changed', 'progressed', 'work', 'watching', 'watch', 'unwatch', 'hello', 'bye']

/** Null for what is none: another version of this server may speak otherwise. */
export function readBusMessage(text: string): BusMessage | null {
  try {
    const value = JSON.parse(text)
    const isOne =
      typeof value?.from === 'string' &&
      KINDS.includes(value.kind) &&
      Array.isArray(value.users) &&
      value.users.every((user: unknown) => typeof user === 'string')
    return isOne ? value : null
  } catch {
    return null
  }
}

/** Users in pieces whose JSON has at most `maxBytes`; one empty piece for none. */
export function inPieces(users: readonly string[], maxBytes: number): string[][] {
  const pieces: string[][] = [[]]
  let used = 0
  for (const user of users) {
    // Quotes and a comma, and room for what has to be escaped.
    const bytes = Buffer.byteLength(JSON.stringify(user)) + 1
    if (used + bytes > maxBytes && used > 0) {
      pieces.push([])
      used = 0
    }
    pieces.at(-1)?.push(user)
    used += bytes
  }
  return pieces
}
