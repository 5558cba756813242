import type { Task } from '@holdfast/shared'
import { taskId } from '@holdfast/shared/schemas'
import type { Sql } from '../database/connect.ts'
import { takeRows } from '../database/take-rows.ts'
import { HoldfastError } from '../errors.ts'
import type { Presenter } from './present-tasks.ts'
import { type TaskRow, taskColumns } from './task-row.ts'

export interface ListTasksInput {
  userId: string
  /** @default 'active', or 'all' with an external id: who asks by it wants the task, ended or not */
  status?: 'active' | 'settled' | 'all'
  conversationId?: string
  externalId?: string
  /** As returned by the page before. */
  cursor?: string
  limit: number
}

/** Newest first. Ids are UUIDv7, so the order of ids is the order of creation and the last id is the cursor. */
export async function listTasks(
  sql: Sql,
  input: ListTasksInput,
  present: Presenter,
): Promise<{ tasks: Task[]; nextCursor: string | null }> {
  const { limit } = input
  const rows = takeRows(await sql<TaskRow[]>`select ${taskColumns(sql, 'listed')} ${listed(sql, input)}`)
  const page = await present.tasks(rows.slice(0, limit))
  return { tasks: page, nextCursor: rows.length > limit ? (page.at(-1)?.id ?? null) : null }
}

/** What the list is made of, one more than asked for: from, where, order and limit. */
export function listed(
  sql: Sql,
  { userId, conversationId, externalId, cursor, limit, ...input }: ListTasksInput,
) {
  if (cursor !== undefined && !taskId.safeParse(cursor).success) {
    throw new HoldfastError(
      'INVALID_REQUEST',
      'cursor: not one that this list gave out. Start again without it.',
    )
  }
  const status = statusOf({ ...input, externalId })
  return sql`
    from holdfast.tasks t
    where t.user_id = ${userId}
      ${status === 'active' ? sql`and t.status in ('pending', 'running')` : sql``}
      ${status === 'settled' ? sql`and t.status in ('completed', 'failed', 'cancelled')` : sql``}
      ${conversationId === undefined ? sql`` : sql`and t.conversation_id = ${conversationId}`}
      ${externalId === undefined ? sql`` : sql`and t.id in (select j.task_id from holdfast.provider_jobs j where j.external_id = ${externalId})`}
      ${cursor === undefined ? sql`` : sql`and t.id < ${cursor}`}
    order by t.id desc
    limit ${limit + 1}
  `
}

/** Whether nothing that has ended can be in the list. */
export function isOnlyActive(input: Pick<ListTasksInput, 'status' | 'externalId'>): boolean {
  return statusOf(input) === 'active'
}

function statusOf({
  status,
  externalId,
}: {
  status?: ListTasksInput['status']
  externalId?: string | undefined
}) {
  return status ?? (externalId === undefined ? 'active' : 'all')
}
