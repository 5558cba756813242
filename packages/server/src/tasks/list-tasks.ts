import { isTerminal, TASK_STATUSES, type Task, type TaskStatus } from '@holdfast/shared'
import { type ListedStatus, taskId } from '@holdfast/shared/schemas'
import type { Sql } from '../database/connect.ts'
import { takeRows } from '../database/take-rows.ts'
import { HoldfastError } from '../errors.ts'
import type { Presenter } from './present-tasks.ts'
import { type TaskRow, taskColumns } from './task-row.ts'

export interface ListTasksInput {
  userId: string
  /** @default 'active', or 'all' with an external id: who asks by it wants the task, ended or not */
  status?: readonly ListedStatus[]
  type?: string
  conversationId?: string
  externalId?: string
  /** As returned by the page before. */
  cursor?: string
  limit: number
}

/**
 * Newest first, to the millisecond with which an id begins. Within one the order is by chance, but it never changes: the
 * last id is the cursor, and pages neither leave out nor repeat a task.
 */
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
  { userId, type, conversationId, externalId, cursor, limit, ...input }: ListTasksInput,
) {
  if (cursor !== undefined && !taskId.safeParse(cursor).success) {
    throw new HoldfastError(
      'INVALID_REQUEST',
      'cursor: not one that this list gave out. Start again without it.',
    )
  }
  const statuses = statusesOf({ ...input, externalId })
  return sql`
    from holdfast.tasks t
    where t.user_id = ${userId}
      ${statuses.length === TASK_STATUSES.length ? sql`` : sql`and t.status in (${literals(sql, statuses)})`}
      ${type === undefined ? sql`` : sql`and t.type = ${type}`}
      ${conversationId === undefined ? sql`` : sql`and t.conversation_id = ${conversationId}`}
      ${externalId === undefined ? sql`` : sql`and t.id in (select j.task_id from holdfast.provider_jobs j where j.external_id = ${externalId})`}
      ${cursor === undefined ? sql`` : sql`and t.id < ${cursor}`}
    order by t.id desc
    limit ${limit + 1}
  `
}

/** Whether nothing that has ended can be in the list. */
export function isOnlyActive(input: Pick<ListTasksInput, 'status' | 'externalId'>): boolean {
  return !statusesOf(input).some(isTerminal)
}

function statusesOf({
  status,
  externalId,
}: Partial<Pick<ListTasksInput, 'status' | 'externalId'>>): TaskStatus[] {
  const asked = status ?? [externalId === undefined ? 'active' : 'all']
  return TASK_STATUSES.filter(
    (one) =>
      asked.includes(one) || asked.includes('all') || asked.includes(isTerminal(one) ? 'settled' : 'active'),
  )
}

/** Written into the statement: by a parameter the planner could not tell that a partial index has all of them. */
function literals(sql: Sql, [first = 'pending', ...others]: readonly TaskStatus[]) {
  return others.reduce((list, status) => sql`${list}, ${LITERALS[status](sql)}`, LITERALS[first](sql))
}

const LITERALS: Record<TaskStatus, (sql: Sql) => ReturnType<Sql>> = {
  pending: (sql) => sql`'pending'`,
  running: (sql) => sql`'running'`,
  completed: (sql) => sql`'completed'`,
  failed: (sql) => sql`'failed'`,
  cancelled: (sql) => sql`'cancelled'`,
}
