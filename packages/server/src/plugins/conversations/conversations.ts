import type { Conversation, ConversationList } from '@holdfast/shared'
import type { Sql } from '../../database/connect.ts'
import { HoldfastError } from '../../errors.ts'
import { type ConversationRow, conversationColumns, toConversation } from './conversation-row.ts'

const LIST_LIMIT = 200

/** Latest activity first, and how many of all are unread. */
export async function listConversations(sql: Sql, userId: string): Promise<ConversationList> {
  const rows = await sql<(ConversationRow & { unreadConversations: number })[]>`
    select ${conversationColumns(sql)}, (
      select count(*)::int from holdfast.conversations u where u.user_id = ${userId} and u.unread_count > 0
    ) as "unreadConversations"
    from holdfast.conversations c
    where c.user_id = ${userId}
    order by coalesce(c.last_message_at, c.created_at) desc
    limit ${LIST_LIMIT}
  `
  return {
    conversations: rows.map(toConversation),
    // Without a row there is no conversation at all.
    unreadConversations: rows[0]?.unreadConversations ?? 0,
  }
}

/**
 * With an id of the caller's choice the same call can be repeated; an id that someone else has is not found.
 * `created` is false if there was one already, which stays as it is.
 */
export async function createConversation(
  sql: Sql,
  userId: string,
  input: { id?: string; title: string },
): Promise<{ conversation: Conversation; created: boolean }> {
  const [made] = await sql<ConversationRow[]>`
    insert into holdfast.conversations as c (id, user_id, title)
    values (${input.id ?? sql`holdfast.new_id()`}, ${userId}, ${input.title})
    on conflict (id) do nothing
    returning ${conversationColumns(sql)}
  `
  const [row] = made ? [made] : await find(sql, userId, input.id ?? '')
  if (!row) throw noSuchConversation()
  return { conversation: toConversation(row), created: made !== undefined }
}

export interface MarkedRead {
  conversation: Conversation
  /** How many of all that the user has are unread now. */
  unreadConversations: number
  /** False: there was nothing to read, and nothing was written. */
  changed: boolean
}

export async function markConversationRead(
  sql: Sql,
  userId: string,
  conversationId: string,
): Promise<MarkedRead> {
  // The counts see the rows as they were before the statement, this one included.
  const unread = sql`select count(*)::int from holdfast.conversations u where u.user_id = ${userId} and u.unread_count > 0`
  const [read] = await sql<(ConversationRow & { unreadConversations: number })[]>`
    update holdfast.conversations c set unread_count = 0
    where c.id = ${conversationId} and c.user_id = ${userId} and c.unread_count > 0
    returning ${conversationColumns(sql)}, (${unread} and u.id <> c.id) as "unreadConversations"
  `
  // In a statement of its own: one that had to wait for another reader would still see the row as unread.
  const [row] = read
    ? [read]
    : await find<{ unreadConversations: number }>(
        sql,
        userId,
        conversationId,
        sql`, (${unread}) as "unreadConversations"`,
      )
  if (!row) throw noSuchConversation()
  const { unreadConversations } = row
  return { conversation: toConversation(row), unreadConversations, changed: read !== undefined }
}

function find<More = unknown>(sql: Sql, userId: string, id: string, more = sql``) {
  return sql<(ConversationRow & More)[]>`
    select ${conversationColumns(sql)} ${more} from holdfast.conversations c
    where c.id = ${id} and c.user_id = ${userId}
  `
}

function noSuchConversation(): HoldfastError {
  return new HoldfastError('NOT_FOUND', 'There is no such conversation.')
}
