import { createHash } from 'node:crypto'
import type { Task } from '@holdfast/shared'
import type { Sql } from '../database/connect.ts'
import { raiseProgress } from '../hot/raise-progress.ts'
import { type ListTasksInput, listed } from './list-tasks.ts'
import type { Presenter } from './present-tasks.ts'

type Tagged = Pick<Task, 'id' | 'status' | 'version' | 'progress'>

/** The ETag of a list of unfinished tasks: which they are, and in which state. */
export function toTaskTag(tasks: readonly Tagged[], hasMore: boolean): string {
  const states = tasks.map(({ id, version, progress }) => `${id}.${version}.${progress}`)
  return `"${createHash('sha1').update(states.join()).update(String(hasMore)).digest('base64url')}"`
}

/** The same from the database, without reading what the tasks are about. */
export async function readTaskTag(sql: Sql, input: ListTasksInput, present: Presenter): Promise<string> {
  const [rows, hot] = await Promise.all([
    sql<Tagged[]>`select t.id, t.status, t.version, t.progress ${listed(sql, input)}`,
    present.hot(input.userId),
  ])
  const page = rows.slice(0, input.limit).map((row) => raiseProgress(row, hot))
  return toTaskTag(page, rows.length > input.limit)
}
