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

/** With an id of the caller's choice the same call can be repeated; an id that someone else has is not found. */
export async function createConversation(
  sql: Sql,
  userId: string,
  input: { id?: string; title: string },
): Promise<Conversation> {
  const [row] = await sql<ConversationRow[]>`
    insert into holdfast.conversations as c (id, user_id, title)
    values (${input.id ?? sql`holdfast.new_id()`}, ${userId}, ${input.title})
    on conflict (id) do update set title = c.title where c.user_id = excluded.user_id
    returning ${conversationColumns(sql)}
  `
  if (!row) throw new HoldfastError('NOT_FOUND', 'There is no such conversation.')
  return toConversation(row)
}

export async function markConversationRead(
  sql: Sql,
  userId: string,
  conversationId: string,
): Promise<Conversation> {
  const [row] = await sql<ConversationRow[]>`
    update holdfast.conversations c set unread_count = 0, updated_at = now()
    where c.id = ${conversationId} and c.user_id = ${userId}
    returning ${conversationColumns(sql)}
  `
  if (!row) throw new HoldfastError('NOT_FOUND', 'There is no such conversation.')
  return toConversation(row)
}
