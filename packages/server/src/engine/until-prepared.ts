import { logFailure } from '../outage-log.ts'
import type { EngineContext } from './engine-context.ts'
import type { Wakeable } from './wakeable.ts'

const PAUSE_MS = 1_000

/** Does what has to be done once before work can be claimed, again while the database is away. */
export async function untilPrepared(
  { stopping, log }: Pick<EngineContext, 'stopping' | 'log'>,
  alarm: Wakeable,
  prepare: () => Promise<void>,
): Promise<void> {
  while (!stopping.aborted) {
    try {
      return await prepare()
    } catch (error) {
      logFailure(log, error, 'looking for work failed; trying again')
      await alarm.pause(PAUSE_MS, stopping)
    }
  }
}
