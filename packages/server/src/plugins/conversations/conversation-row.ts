import type { Conversation } from '@holdfast/shared'
import type { Sql } from '../../database/connect.ts'

export interface ConversationRow {
  id: string
  title: string
  unread: number
  lastMessageAt: Date | null
  createdAt: Date
}

export function conversationColumns(sql: Sql) {
  return sql`c.id, c.title, c.unread_count as unread, c.last_message_at as "lastMessageAt", c.created_at as "createdAt"`
}

export function toConversation(row: ConversationRow): Conversation {
  return {
    id: row.id,
    title: row.title,
    unread: row.unread,
    lastMessageAt: row.lastMessageAt?.toISOString() ?? null,
    createdAt: row.createdAt.toISOString(),
  }
}
