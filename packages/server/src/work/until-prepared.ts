import type { WakeUp } from '../concurrency/wake-up.ts'
import { logFailure } from '../outage-log.ts'
import type { ProviderContext } from './provider-context.ts'

const PAUSE_MS = 1_000

/** Does what has to be done once before work can be claimed, again while the database is away. */
export async function untilPrepared(
  { stopping, log }: Pick<ProviderContext, 'stopping' | 'log'>,
  alarm: WakeUp,
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
