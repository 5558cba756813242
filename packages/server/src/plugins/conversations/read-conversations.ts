import type { ConversationList } from '@holdfast/shared'
import type { PendingQuery, Row } from 'postgres'
import type { Sql } from '../../database/connect.ts'
import { changedSince } from '../../tasks/sync-cursor.ts'
import { type ConversationRow, conversationColumns, toConversation } from './conversation-row.ts'

type Fragment = PendingQuery<Row[]>

/** What a page shows before anybody scrolls, and what a badge is about. */
const NEWEST_LIMIT = 50
const UNREAD_LIMIT = 200
/** As many as of tasks that were missed. */
const CHANGED_LIMIT = 1_000

/** As the column holds them. */
export interface ReadConversations {
  unread: number
  rows: ConversationRow[]
}

/** For a caller who knows none. Some come twice. */
export function firstConversations(sql: Sql, userId: string): Fragment {
  const newest = sql`order by coalesce(c.last_message_at, c.created_at) desc`
  return sql`
    (select ${conversationColumns(sql)} from holdfast.conversations c
    where c.user_id = ${userId} ${newest} limit ${NEWEST_LIMIT})
    union all
    (select ${conversationColumns(sql)} from holdfast.conversations c
    where c.user_id = ${userId} and c.unread_count > 0 ${newest} limit ${UNREAD_LIMIT})
  `
}

/** For a caller who has read up to `xid`, newest change first. */
export function changedConversations(
  sql: Sql,
  userId: string,
  xid: Fragment,
  condition: Fragment = sql``,
): Fragment {
  return sql`
    select ${conversationColumns(sql)} from holdfast.conversations c
    where ${conversationsChangedSince(sql, sql`${userId}`, xid)} ${condition}
    order by c.changed_xid desc limit ${CHANGED_LIMIT}
  `
}

/** Rows from before there was a transaction id have 0, and are not in the index. */
export function conversationsChangedSince(sql: Sql, userId: Fragment, xid: Fragment): Fragment {
  return sql`c.user_id = ${userId} and c.changed_xid > '0' and ${changedSince(sql, xid, sql`c`)}`
}

/**
 * In the first row only: a statement that reads tasks would send them again with each of them. `false`: there are none to
 * tell of.
 */
export function conversationsColumn(sql: Sql, userId: string, conversations: Fragment | false): Fragment {
  if (!conversations) return sql`null::json as conversations`
  return sql`
    case when row_number() over () = 1 then json_build_object(
      'unread', (select count(*) from holdfast.conversations c where c.user_id = ${userId} and c.unread_count > 0),
      'rows', (select coalesce(json_agg(c), '[]') from (${conversations}) c)
    ) end as conversations
  `
}

/** What a first answer brings, by itself. */
export async function readConversations(sql: Sql, userId: string): Promise<ReadConversations | null> {
  const [read] = await sql<{ conversations: ReadConversations }[]>`
    select ${conversationsColumn(sql, userId, firstConversations(sql, userId))}
  `
  return read?.conversations ?? null
}

export function toConversationList(read: ReadConversations | null): ConversationList {
  const byId = new Map(read?.rows.map((row) => [row.id, toConversation(row)]))
  return { conversations: [...byId.values()], unreadConversations: read?.unread ?? 0 }
}
