import type { Conversation } from '@holdfast/shared'
import type { Sql } from '../../database/connect.ts'

export interface ConversationRow {
  id: string
  title: string
  unread: number
  /** Text where PostgreSQL made JSON of the row. */
  lastMessageAt: Date | string | null
  createdAt: Date | string
  version: number
}

export function conversationColumns(sql: Sql) {
  return sql`c.id, c.title, c.unread_count as unread, c.last_message_at as "lastMessageAt", c.created_at as "createdAt", c.version`
}

export function toConversation(row: ConversationRow): Conversation {
  return {
    id: row.id,
    title: row.title,
    unread: row.unread,
    lastMessageAt: row.lastMessageAt && new Date(row.lastMessageAt).toISOString(),
    createdAt: new Date(row.createdAt).toISOString(),
    version: row.version,
  }
}
