import type { Tx } from '../../database/connect.ts'
import { shownParams } from '../../tasks/shown-params.ts'
import type { SettledTask } from '../plugin.ts'

type Json = Parameters<Tx['json']>[0]

/**
 * The message that a finished task leaves in its conversation, with its files and what it cost, and the conversation's
 * unread mark (F4, F12). Nothing for a task without a conversation (F14). One per task, whoever asks again: the table
 * says so too.
 */
export async function writeMessage(tx: Tx, task: SettledTask): Promise<void> {
  if (task.conversationId === null) return
  const prompt = task.params.prompt
  const shown = shownParams(task.params, {})
  const [message] = await tx<{ id: string }[]>`
    insert into holdfast.messages (conversation_id, user_id, role, content, task_id, task_type, placeholder_id, params, shown_params, credits_spent)
    values (
      ${task.conversationId}, ${task.userId}, 'assistant', ${typeof prompt === 'string' ? prompt : ''},
      ${task.id}, ${task.type}, ${task.placeholderId}, ${tx.json(task.params as Json)}, ${shown && tx.json(shown as Json)},
      ${task.creditsSpent}
    )
    on conflict on constraint one_message_per_task do nothing
    returning id
  `
  if (!message) return
  // Sent together, and done in this order.
  await Promise.all([
    tx`update holdfast.artifacts set message_id = ${message.id} where task_id = ${task.id}`,
    tx`update holdfast.tasks set message_id = ${message.id} where id = ${task.id}`,
    tx`
      update holdfast.conversations set unread_count = unread_count + 1, last_message_at = now()
      where id = ${task.conversationId}
    `,
  ])
}
