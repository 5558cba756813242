import type { Tx } from '../../database/connect.ts'
import type { EndedTask } from '../../tasks/settle-task.ts'

/**
 * The message that a finished task leaves in its conversation, and the conversation's unread mark (F4). Null for a
 * task without a conversation (F14). One per task, whoever asks again: the table says so too.
 */
export async function writeMessage(tx: Tx, task: EndedTask): Promise<string | null> {
  if (task.conversationId === null) return null
  const prompt = task.params.prompt
  const [message] = await tx<{ id: string }[]>`
    insert into holdfast.messages (conversation_id, user_id, role, content, task_id, task_type, placeholder_id, params)
    values (
      ${task.conversationId}, ${task.userId}, 'assistant', ${typeof prompt === 'string' ? prompt : ''},
      ${task.id}, ${task.type}, ${task.placeholderId}, ${tx.json(task.params as Parameters<Tx['json']>[0])}
    )
    on conflict on constraint one_message_per_task do nothing
    returning id
  `
  if (!message) return null
  await tx`
    update holdfast.conversations set unread_count = unread_count + 1, last_message_at = now(), updated_at = now()
    where id = ${task.conversationId}
  `
  return message.id
}
