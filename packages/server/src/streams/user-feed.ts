import type { SyncAnswer } from '@holdfast/shared'
import type { Hint } from '../bus/bus.ts'
import type { Sql } from '../database/connect.ts'
import { NOTHING_HOT } from '../hot/hot-store.ts'
import type { Presenter } from '../tasks/present-tasks.ts'
import { type SyncInput, syncTasks } from '../tasks/sync-tasks.ts'
import { createFeedConversations } from './feed-conversations.ts'
import { createFeedEntries } from './feed-entries.ts'
import type { StreamOutage } from './stream-outage.ts'

/** One stream's place in the feed. */
export interface FeedReader {
  /** What it begins with: all there is, or what changed since its cursor. */
  readonly snapshot: Uint8Array
  /** What there is that it has not had, the newest state of each task and conversation; null if nothing. */
  next(): Uint8Array | null
  /** Idempotent. */
  leave(): void
}

/** What all streams of one user at this process share: one query per hint, however many they are. */
export interface UserFeed {
  readonly userId: string
  /** Where the next look begins. */
  cursor(): string | null
  hint(hint: Hint): void
  /** Somebody looked from `from` on and found nothing up to `to`. */
  advance(from: string, to: string): void
  /** Rejects if what it begins with cannot be read. `onNews`: there is something to take. */
  join(cursor: string | null, onNews: () => void): Promise<FeedReader>
  close(): void
}

export interface UserFeedParts {
  sql: Sql
  present: Presenter
  outage: StreamOutage
  /** Whether there are any. @default true */
  conversations?: boolean | undefined
  /** It has just looked for itself. */
  onLook(): void
}

interface Reader {
  seq: number
  conversationsSeq: number
  onNews(): void
}

interface Joiner {
  cursor: string | null
  onNews(): void
  resolve(reader: FeedReader): void
  reject(reason: unknown): void
}

const FIRST_RETRY_MS = 250
const LONGEST_RETRY_MS = 5_000
/** Of what the last look brought, so many are not read again while a long transaction holds the cursor back. */
const MOST_REMEMBERED = 500

export function createUserFeed(userId: string, parts: UserFeedParts): UserFeed {
  const { sql, present, outage } = parts
  const entries = createFeedEntries()
  const conversations = createFeedConversations()
  const readers = new Set<Reader>()
  const joiners: Joiner[] = []
  let justRead = new Set<string>()
  let cursor: string | null = null
  let hasChanged = false
  let hasProgressed = false
  let isLooking = false
  let isClosed = false
  let retryMs = FIRST_RETRY_MS
  let retry: NodeJS.Timeout | undefined

  const read = (input: Omit<SyncInput, 'userId'>) =>
    syncTasks(sql, { userId, conversations: parts.conversations, ...input }, present)

  /** One look at a time: what a stream begins with is then never older than what the others have had. */
  async function look(): Promise<void> {
    isLooking = true
    while (!isClosed && (joiners.length > 0 || hasChanged || hasProgressed)) {
      if (joiners.length > 0) await admit(joiners.splice(0))
      else if (hasChanged) await refresh()
      else await readHot()
    }
    isLooking = false
  }

  function wake(): void {
    if (!isLooking && !isClosed) void look()
  }

  async function refresh(): Promise<void> {
    hasChanged = hasProgressed = false
    if (cursor === null) return
    const before = cursor
    try {
      const [answer, hot] = await Promise.all([
        read({ cursor: before, known: entries.known(justRead), hot: NOTHING_HOT }),
        present.hot(userId),
      ])
      cursor = answer.cursor
      justRead = remember(answer, before)
      entries.absorb(answer.tasks, before)
      conversations.absorb(answer)
      entries.raise(hot, before)
      retryMs = FIRST_RETRY_MS
      outage.back()
      parts.onLook()
      deliver()
    } catch (error) {
      outage.away(error)
      // Streams stay: reconnecting would not help them, and all of them at once would not help us.
      clearTimeout(retry)
      retry = setTimeout(() => hint('changed'), retryMs * (0.5 + Math.random() / 2))
      retryMs = Math.min(LONGEST_RETRY_MS, retryMs * 2)
    }
  }

  /** While the cursor does not move, what was read before comes again and is left out again. */
  function remember(answer: SyncAnswer, before: string): Set<string> {
    const ids = answer.tasks.map(({ id }) => id)
    const all = answer.cursor === before ? [...justRead, ...ids] : ids
    return new Set(all.slice(-MOST_REMEMBERED))
  }

  async function readHot(): Promise<void> {
    hasProgressed = false
    const hot = await present.hot(userId)
    if (cursor === null) return
    entries.raise(hot, cursor)
    deliver()
  }

  async function admit(waiting: Joiner[]): Promise<void> {
    const groups = Map.groupBy(waiting, (joiner) => joiner.cursor)
    for (const [since, group] of groups) {
      try {
        const hot = await present.hot(userId)
        let answer: SyncAnswer | null = null
        if (cursor === null) {
          // What a resumed stream is not told, because it knows it, we must know too, to name its next change.
          answer = await read({ hot })
          cursor = answer.cursor
          entries.absorb(answer.tasks, answer.cursor)
          conversations.begin(answer)
        }
        if (answer === null || since !== null) {
          answer = await read({ cursor: since, hot })
          entries.absorb(answer.tasks, cursor)
          // Conversations that changed since the feed looked are found by its next look: its cursor is before them.
        }
        const snapshot = toSnapshot({ ...answer, tasks: answer.tasks.map(entries.newest) })
        for (const joiner of group) joiner.resolve(enter(joiner, snapshot))
        outage.back()
        deliver()
      } catch (error) {
        for (const joiner of group) joiner.reject(error)
      }
    }
  }

  function enter({ onNews }: Joiner, snapshot: Uint8Array): FeedReader {
    const reader: Reader = { seq: entries.seq, conversationsSeq: conversations.seq, onNews }
    readers.add(reader)
    return {
      snapshot,
      next() {
        if (!readers.has(reader)) return null
        const told = conversations.after(reader.conversationsSeq)
        if (told) {
          reader.conversationsSeq = told.seq
          tidy()
          return told.bytes
        }
        const chunk = entries.after(reader.seq, cursor ?? '')
        if (!chunk) return null
        reader.seq = chunk.seq
        tidy()
        return chunk.bytes
      },
      leave() {
        readers.delete(reader)
        tidy()
      },
    }
  }

  function deliver(): void {
    for (const reader of readers) {
      if (reader.seq < entries.seq || reader.conversationsSeq < conversations.seq) reader.onNews()
    }
    tidy()
  }

  function tidy(): void {
    let slowest = entries.seq
    let slowestOfConversations = conversations.seq
    for (const { seq, conversationsSeq } of readers) {
      slowest = Math.min(slowest, seq)
      slowestOfConversations = Math.min(slowestOfConversations, conversationsSeq)
    }
    entries.trim(slowest)
    conversations.trim(slowestOfConversations)
  }

  function hint(given: Hint): void {
    if (given === 'changed') hasChanged = true
    else hasProgressed = true
    wake()
  }

  return {
    userId,
    cursor: () => cursor,
    hint,
    advance(from, to) {
      if (cursor === from && !isLooking) cursor = to
    },
    join: (since, onNews) =>
      new Promise((resolve, reject) => {
        joiners.push({ cursor: since, onNews, resolve, reject })
        wake()
      }),
    close() {
      isClosed = true
      clearTimeout(retry)
      for (const joiner of joiners.splice(0)) joiner.reject(new Error('The feed was closed.'))
    },
  }
}

const encoder = new TextEncoder()

function toSnapshot(answer: SyncAnswer): Uint8Array {
  return encoder.encode(`event: snapshot\ndata: ${JSON.stringify(answer)}\nid: ${answer.cursor}\n\n`)
}
