import type { Task } from '@holdfast/shared'
import type { Sql } from '../database/connect.ts'
import { type Presenter, withoutUrls } from './present-tasks.ts'
import { type TaskRow, taskColumns } from './task-row.ts'

/** Null both for a task that does not exist and for someone else's. */
export async function findTask(
  sql: Sql,
  userId: string,
  taskId: string,
  present: Presenter = withoutUrls,
): Promise<Task | null> {
  const rows = await sql<TaskRow[]>`
    select ${taskColumns(sql, 'whole')} from holdfast.tasks t where t.id = ${taskId} and t.user_id = ${userId}
  `
  const [task = null] = await present.tasks(rows)
  return task
}
