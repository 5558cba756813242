import type { Conversation, ConversationList } from '@holdfast/shared'
import type { WriteContext } from '../../bus/create-notify.ts'
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
 * With an id of the caller's choice the same call can be repeated, and the one that was there stays as it is; an id that
 * someone else has is not found.
 */
export async function createConversation(
  { sql, notify }: WriteContext,
  userId: string,
  input: { id?: string; title: string },
): Promise<{ conversation: Conversation }> {
  const [made] = await sql<ConversationRow[]>`
    insert into holdfast.conversations as c (id, user_id, title)
    values (${input.id ?? sql`holdfast.new_id()`}, ${userId}, ${input.title})
    on conflict (id) do nothing
    returning ${conversationColumns(sql)}
  `
  if (made) notify.changed(userId)
  const [row] = made ? [made] : await find(sql, userId, input.id ?? '')
  if (!row) throw noSuchConversation()
  return { conversation: toConversation(row) }
}

export interface MarkedRead {
  conversation: Conversation
  /** How many of all that the user has are unread now. */
  unreadConversations: number
}

export async function markConversationRead(
  { sql, notify }: WriteContext,
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
  if (read) notify.changed(userId)
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
  return { conversation: toConversation(row), unreadConversations: row.unreadConversations }
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
