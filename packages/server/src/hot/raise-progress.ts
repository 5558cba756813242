import type { TaskRow } from '../tasks/task-row.ts'

type Shown = Pick<TaskRow, 'id' | 'status' | 'progress'>

/** The row with the higher of its own progress and the hot one. Only while it runs: an end is only in the database. */
export function raiseProgress<T extends Shown>(row: T, hot: ReadonlyMap<string, number>): T {
  const progress = row.status === 'running' ? hot.get(row.id) : undefined
  return progress !== undefined && progress > (row.progress ?? -1) ? { ...row, progress } : row
}
