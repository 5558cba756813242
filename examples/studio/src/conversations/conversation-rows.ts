import type { TrackedTask } from '@holdfast/client'
import { type Conversation, isTerminal } from '@holdfast/shared'
import { conversationTitle } from '../prompt/conversation-title.ts'
import { promptOf } from '../prompt/prompt-of.ts'

/** A conversation as the side list shows it. */
export interface ConversationRow {
  id: string
  title: string
  unread: number
  /** Unfinished tasks in it. */
  working: number
  lastActivityAt: string
}

/**
 * The server's conversations, newest activity first, with the work going on in each. Conversations that only the tasks
 * know of come before them: with the server away the local copy still has the tasks, and what waits to be sent may be the
 * first of its conversation. Their cards must be reachable.
 */
export function conversationRows(
  conversations: readonly Conversation[],
  tasks: readonly TrackedTask[],
): ConversationRow[] {
  const working = new Map<string, number>()
  const unlisted = new Map<string, TrackedTask>()
  const listed = new Set(conversations.map((conversation) => conversation.id))
  for (const task of tasks) {
    const id = task.conversationId
    if (!id) continue
    if (!isTerminal(task.status)) working.set(id, (working.get(id) ?? 0) + 1)
    const first = unlisted.get(id)
    if (!listed.has(id) && (!first || task.createdAt < first.createdAt)) unlisted.set(id, task)
  }
  const fromTasks = [...unlisted]
    .sort(([, a], [, b]) => (a.createdAt < b.createdAt ? 1 : -1))
    .map(([id, task]) => ({
      id,
      title: conversationTitle(promptOf(task.params)),
      unread: 0,
      working: working.get(id) ?? 0,
      lastActivityAt: task.createdAt,
    }))
  const fromServer = conversations
    .map(({ id, title, unread, lastMessageAt, createdAt }) => ({
      id,
      title,
      unread,
      working: working.get(id) ?? 0,
      lastActivityAt: lastMessageAt ?? createdAt,
    }))
    .sort((a, b) => (a.lastActivityAt < b.lastActivityAt ? 1 : -1))
  return [...fromTasks, ...fromServer]
}
