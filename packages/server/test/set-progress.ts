import type { Sql } from '../src/database/connect.ts'
import { writeProgress } from '../src/tasks/write-progress.ts'

/** As the engine does when it is time to write a task's progress down. */
export async function setProgress(sql: Sql, taskId: string, progress: number): Promise<void> {
  await writeProgress(sql, [{ taskId, progress, queuePosition: null, expectedMs: null }])
}
