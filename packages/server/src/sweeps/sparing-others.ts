import type { Logger } from 'pino'
import type { Sql } from '../database/connect.ts'
import { isDatabaseAway } from '../database/database-errors.ts'

/** Does something for one of many tasks. If it cannot be done, the others must not wait for it: undefined. */
export async function sparingOthers<T>(
  log: Logger,
  about: { taskId: string; traceId: string | null },
  work: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await work()
  } catch (error) {
    if (isDatabaseAway(error)) throw error
    log.error({ err: error, ...about }, 'a sweep could not deal with a task; the next one tries again')
    return undefined
  }
}

/** The trace id of the request that asked for a task `t`, so that a sweep's lines are found by it, too. */
export function traceIdOf(sql: Sql) {
  return sql`(select j.trace_id from holdfast.provider_jobs j where j.task_id = t.id)`
}
