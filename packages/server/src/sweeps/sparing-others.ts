import type { Logger } from 'pino'
import { isDatabaseAway } from '../database/database-errors.ts'

/** Does something for one of many tasks. If it cannot be done, the others must not wait for it: undefined. */
export async function sparingOthers<T>(
  log: Logger,
  taskId: string,
  work: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await work()
  } catch (error) {
    if (isDatabaseAway(error)) throw error
    log.error({ err: error, taskId }, 'a sweep could not deal with a task; the next one tries again')
    return undefined
  }
}
