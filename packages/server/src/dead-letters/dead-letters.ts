import type { Task } from '@holdfast/shared'
import type { WriteContext } from '../bus/create-notify.ts'
import type { Sql } from '../database/connect.ts'
import { transaction } from '../database/transaction.ts'
import { ENDPOINTS } from '../engine/work-queue.ts'
import { HoldfastError } from '../errors.ts'
import type { Submit } from '../tasks/create-task.ts'
import { findTask } from '../tasks/find-task.ts'
import { retryTask } from '../tasks/retry-task.ts'

export interface DeadLetter {
  id: string
  taskId: string
  userId: string
  kind: string
  provider: string
  lane: string
  attempts: number
  reason: string
  createdAt: Date
}

const LIST_LIMIT = 200

/** Those that nobody has dealt with, newest first, to the millisecond with which an id begins. */
export function listDeadLetters(sql: Sql, cursor: string | null): Promise<DeadLetter[]> {
  return sql<DeadLetter[]>`
    select id, task_id as "taskId", user_id as "userId", kind, provider, lane, attempts, reason, created_at as "createdAt"
    from holdfast.dead_letters
    where resolved_at is null ${cursor === null ? sql`` : sql`and id < ${cursor}`}
    order by id desc limit ${LIST_LIMIT}
  `
}

/**
 * The same again for its user, as a new task. Repeating the call finds the task that the first one made: the letter's
 * id is the idempotency key.
 */
export async function retryDeadLetter(
  context: WriteContext,
  submit: Submit,
  id: string,
  traceId: string,
): Promise<{ task: Task; userId: string }> {
  const { sql } = context
  const letter = await findLetter(sql, id)
  if (letter.resolution === 'discarded') {
    throw new HoldfastError(
      'TASK_NOT_RETRYABLE',
      letter.kind === 'deliver'
        ? 'The dead letter was discarded, by hand or with its endpoint.'
        : 'The dead letter was discarded. Retry its task instead.',
    )
  }
  if (letter.kind === 'deliver') return redeliver(context, { ...letter, id })
  if (letter.kind !== 'send' && letter.kind !== 'poll') {
    throw new HoldfastError(
      'TASK_NOT_RETRYABLE',
      `A ${letter.kind} cannot be repeated as a new task; discard it.`,
    )
  }
  const { task } = await retryTask(sql, submit, {
    userId: letter.userId,
    taskId: letter.taskId,
    idempotencyKey: `dead-letter-${id}`,
    traceId,
  })
  await sql`
    update holdfast.dead_letters set resolved_at = now(), resolution = 'retried', retry_task_id = ${task.id}
    where id = ${id} and resolved_at is null
  `
  return { task, userId: letter.userId }
}

/**
 * Everything that the endpoint was to be told of that task, from the one it did not take on. Once per letter: what was
 * given up since then has a letter of its own.
 */
async function redeliver(
  { sql, notify }: WriteContext,
  { id, taskId, userId, provider }: FoundLetter & { id: string },
): Promise<{ task: Task; userId: string }> {
  await transaction(sql, async (tx) => {
    // Locked: an endpoint that is being forgotten at this moment takes its letters along.
    const [endpoint] = await tx<{ part: number }[]>`
      select part from holdfast.webhook_endpoints where id = ${provider} for key share
    `
    if (!endpoint) {
      throw new HoldfastError(
        'TASK_NOT_RETRYABLE',
        `No server has the endpoint "${provider}" any more; discard the dead letter.`,
      )
    }
    const resolved = await tx`
      update holdfast.dead_letters set resolved_at = now(), resolution = 'retried', retry_task_id = ${taskId}
      where id = ${id} and resolved_at is null
    `
    if (resolved.count === 0) return
    tx.afterCommit(() => notify.due('deliver', ENDPOINTS))
    await tx`update holdfast.deliveries set failed_at = null where task_id = ${taskId} and endpoint = ${provider}`
    await tx`
      insert into holdfast.work (task_id, kind, part, provider)
      select t.id, 'deliver', ${endpoint.part}, ${provider} from holdfast.tasks t where t.id = ${taskId}
      on conflict do nothing
    `
  })
  const task = await findTask(sql, userId, taskId)
  if (!task) throw new HoldfastError('NOT_FOUND', 'The task of this dead letter is gone.')
  return { task, userId }
}

export async function discardDeadLetter(sql: Sql, id: string): Promise<void> {
  await findLetter(sql, id)
  await sql`
    update holdfast.dead_letters set resolved_at = now(), resolution = 'discarded' where id = ${id} and resolved_at is null
  `
}

type FoundLetter = Pick<DeadLetter, 'userId' | 'taskId' | 'kind' | 'provider'> & {
  resolution: 'retried' | 'discarded' | null
}

async function findLetter(sql: Sql, id: string): Promise<FoundLetter> {
  const [letter] = await sql<FoundLetter[]>`
    select user_id as "userId", task_id as "taskId", kind, provider, resolution from holdfast.dead_letters where id = ${id}
  `
  if (!letter) throw new HoldfastError('NOT_FOUND', 'There is no such dead letter.')
  return letter
}
