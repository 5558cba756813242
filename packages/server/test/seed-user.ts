import type { Sql } from '../src/database/connect.ts'

export interface Seeded {
  conversationId: string
  messageId: string
  completedTaskId: string
  runningTaskId: string
  pendingTaskId: string
}

/** One row at least of everything a user can have, in every table. */
export function seedUser(sql: Sql, userId: string): Promise<Seeded> {
  return sql.begin(async (tx): Promise<Seeded> => {
    const newId = async () => (await tx<{ id: string }[]>`select holdfast.new_id() as id`)[0]?.id ?? ''
    const seeded = {
      conversationId: await newId(),
      messageId: await newId(),
      completedTaskId: await newId(),
      runningTaskId: await newId(),
      pendingTaskId: await newId(),
    }
    const { conversationId, messageId, completedTaskId, runningTaskId, pendingTaskId } = seeded
    await tx`insert into holdfast.conversations (id, user_id, title, unread_count) values (${conversationId}, ${userId}, 'foxes', 1)`
    for (const id of [completedTaskId, runningTaskId, pendingTaskId]) {
      await tx`
        insert into holdfast.tasks (id, user_id, type, provider, params, conversation_id)
        values (${id}, ${userId}, 'image', 'kie', '{"prompt": "a fox"}', ${conversationId})
      `
      await tx`insert into holdfast.provider_jobs (task_id, provider) values (${id}, 'kie')`
    }
    for (const id of [completedTaskId, runningTaskId]) {
      await tx`update holdfast.provider_jobs set sending_at = now(), external_id = ${`external-${id}`}, accepted_at = now() where task_id = ${id}`
      await tx`update holdfast.tasks set status = 'running', started_at = now() where id = ${id}`
    }
    await tx`insert into holdfast.messages (id, conversation_id, user_id, role, content, task_id) values (${messageId}, ${conversationId}, ${userId}, 'assistant', 'a fox', ${completedTaskId})`
    await tx`update holdfast.tasks set status = 'completed', finished_at = now(), message_id = ${messageId} where id = ${completedTaskId}`
    await tx`insert into holdfast.artifacts (task_id, message_id, user_id, ordinal, source_url) values (${completedTaskId}, ${messageId}, ${userId}, 0, 'https://provider.example/fox.png')`
    await tx`insert into holdfast.work (task_id, kind, provider, due_at) values (${runningTaskId}, 'poll', 'kie', 'infinity'), (${pendingTaskId}, 'send', 'kie', 'infinity')`
    await tx`insert into holdfast.idempotency_keys (user_id, key, body_hash, task_id) values (${userId}, 'seeded', 'hash', ${pendingTaskId})`
    await tx`insert into holdfast.credit_accounts (user_id, balance) values (${userId}, 100)`
    await tx`insert into holdfast.credit_ledger (user_id, task_id, kind, amount) values (${userId}, ${completedTaskId}, 'hold', 10)`
    await tx`insert into holdfast.dead_letters (task_id, user_id, kind, provider, lane, attempts, reason) values (${completedTaskId}, ${userId}, 'cancel', 'kie', 'free_default', 3, 'not taken')`
    await tx`select holdfast.register_endpoint('app', '{}')`
    await tx`insert into holdfast.deliveries (endpoint, task_id, user_id, event, version) values ('app', ${completedTaskId}, ${userId}, 'task.completed', 3)`
    return seeded
  })
}
