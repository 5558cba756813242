import type { Tx } from '../../database/connect.ts'
import { shownParams } from '../../tasks/shown-params.ts'
import type { SettledTask } from '../plugin.ts'

/**
 * The messages that finished tasks leave in their conversations, with their files and what they cost, and the unread
 * marks of those, in one statement. Nothing for a task without a conversation. One per task, however often it is asked
 * for: the table says so too.
 */
export async function writeMessages(tx: Tx, finished: readonly SettledTask[]): Promise<void> {
  const tasks = finished.filter(({ conversationId }) => conversationId !== null)
  if (tasks.length === 0) return
  const shown = tasks.map(({ params }) => shownParams(params, {}))
  await tx`
    with m as materialized (
      select * from unnest(
        ${tasks.map(({ id }) => id)}::uuid[], ${tasks.map(({ conversationId }) => conversationId)}::uuid[],
        ${tasks.map(({ userId }) => userId)}::text[], ${tasks.map(({ params }) => textOf(params))}::text[],
        ${tasks.map(({ type }) => type)}::text[], ${tasks.map(({ placeholderId }) => placeholderId)}::text[],
        ${tasks.map(({ params }) => JSON.stringify(params))}::text[],
        ${shown.map((params) => params && JSON.stringify(params))}::text[],
        ${tasks.map(({ creditsSpent }) => creditsSpent)}::float8[]
      ) as m (task_id, conversation_id, user_id, content, type, placeholder_id, params, shown_params, credits_spent)
    ),
    -- In the order of their ids, so that two who write to the same conversations do not wait for each other in a circle.
    held as materialized (
      select c.id from holdfast.conversations c
      where c.id = any(array(select conversation_id from m)) order by c.id for no key update
    ),
    written as (
      insert into holdfast.messages (
        conversation_id, user_id, role, content, task_id, task_type, placeholder_id, params, shown_params, credits_spent
      )
      select m.conversation_id, m.user_id, 'assistant', m.content, m.task_id, m.type, m.placeholder_id, m.params::jsonb,
        m.shown_params::jsonb, m.credits_spent
      from m join held on held.id = m.conversation_id
      on conflict on constraint one_message_per_task do nothing
      returning id, task_id, conversation_id
    ),
    files as (
      update holdfast.artifacts a set message_id = w.id from written w where a.task_id = w.task_id
    ),
    shown as (
      update holdfast.tasks t set message_id = w.id from written w where t.id = w.task_id
    )
    update holdfast.conversations c set unread_count = c.unread_count + w.count, last_message_at = now()
    from (select conversation_id, count(*)::int as count from written group by conversation_id) w
    where c.id = w.conversation_id
  `
}

/** Locks the conversations of these tasks. Returns the tasks whose conversation somebody else holds. */
export async function lockConversations(tx: Tx, taskIds: readonly string[]): Promise<Set<string>> {
  const held = await tx<{ id: string }[]>`
    with own as materialized (
      select t.id, t.conversation_id from holdfast.tasks t
      where t.id = any(${taskIds as string[]}::uuid[]) and t.conversation_id is not null
    ),
    free as materialized (
      select c.id from holdfast.conversations c where c.id = any(array(select o.conversation_id from own o))
      for no key update skip locked
    )
    select o.id from own o where not exists (select from free f where f.id = o.conversation_id)
  `
  return new Set(held.map(({ id }) => id))
}

function textOf({ prompt }: Record<string, unknown>): string {
  return typeof prompt === 'string' ? prompt : ''
}
