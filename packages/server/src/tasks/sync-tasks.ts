import { isNewer, type SyncAnswer } from '@holdfast/shared'
import type { Sql } from '../database/connect.ts'
import { takeRows } from '../database/take-rows.ts'
import { raiseProgress } from '../hot/raise-progress.ts'
import {
  type ReadConversations,
  readConversations,
  toConversationList,
} from '../plugins/conversations/read-conversations.ts'
import { type Presenter, withoutUrls } from './present-tasks.ts'
import { readChanges, readFirst } from './read-changes.ts'
import { parseCursor } from './sync-cursor.ts'
import type { TaskRow } from './task-row.ts'

export type KnownTasks = Record<string, readonly [version: number, progress: number | null]>

export interface SyncInput {
  userId: string
  known?: KnownTasks
  cursor?: string | null
  /** What the hot store says, if it was asked already. */
  hot?: ReadonlyMap<string, number>
  /** Whether there are any to tell of. @default true */
  conversations?: boolean | undefined
}

interface AnswerRow extends Partial<TaskRow> {
  cursor: string
  now: Date
  gone: string[]
  goesOn: boolean
  /** Null in all rows but the first, and where there are none to tell of. */
  conversations: ReadConversations | null
}

/** Others may write to the hot store what is no task; PostgreSQL would refuse the whole question. */
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/**
 * What a caller does not know yet. With a cursor: what changed since. Without one: all unfinished tasks, those that ended
 * lately, and the conversations that a page shows first.
 *
 * The cursor is the oldest transaction that was still running when the rows were read, and rows are found by the
 * transaction that wrote them last: a slow transaction that commits after the read is at or above the cursor and
 * comes with the next sync. A time would lose it. What was read already may come twice, which `isNewer` sorts out.
 * A cursor of another server, or of another run of this one, counts as none.
 */
export async function syncTasks(
  sql: Sql,
  { userId, known = {}, cursor = null, conversations = true, ...given }: SyncInput,
  present: Presenter = withoutUrls,
): Promise<SyncAnswer> {
  // Progress that is only hot has not touched the row: what is further than the caller knows is looked up by its id.
  const hot = given.hot ?? (await present.hot(userId))
  const risen = [...hot].filter(([id, progress]) => progress > (known[id]?.[1] ?? -1) && UUID.test(id))
  const since = parseCursor(cursor)

  const isFirst = since === null && Object.keys(known).length === 0
  const rows = takeRows(
    await sql<AnswerRow[]>`
      ${isFirst ? readFirst(sql, userId, conversations) : readChanges(sql, { userId, since, known, risen, conversations })}
    `,
  )
  const [first] = rows
  // Later than the cursor, so that nothing is lost in between.
  const read = first?.goesOn ? first.conversations : await readConversations(sql, userId)
  return {
    tasks: await present.tasks(
      rows
        .filter((row): row is typeof row & TaskRow => typeof row.id === 'string')
        .filter((row) => isNewer(raiseProgress(row, hot), toState(known[row.id])))
        .sort((one, other) => (one.id < other.id ? -1 : 1)),
      hot,
    ),
    gone: first?.gone ?? [],
    ...(conversations ? toConversationList(read) : {}),
    cursor: first?.cursor ?? '',
    now: (first?.now ?? new Date(0)).toISOString(),
  }
}

function toState(known: KnownTasks[string] | undefined) {
  return known && { version: known[0], progress: known[1] }
}
