import type { Task } from '@holdfast/shared'
import type { Sql } from '../database/connect.ts'
import { type TaskRow, taskColumns, toTask } from './task-row.ts'

/** Null both for a task that does not exist and for someone else's. */
export async function findTask(sql: Sql, userId: string, taskId: string): Promise<Task | null> {
  const [row] = await sql<TaskRow[]>`
    select ${taskColumns(sql)} from holdfast.tasks t where t.id = ${taskId} and t.user_id = ${userId}
  `
  return row ? toTask(row) : null
}
