import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { logFailure } from '../outage-log.ts'
import { mayPass } from './database-errors.ts'

const FIRST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 2_000

/**
 * Writes down what was learned from outside, again and again while the database is away or cannot write: a provider's
 * answer to a create exists nowhere else. Only a stop that has waited long enough makes it give up.
 */
export async function untilWritten<T>(
  write: () => Promise<T>,
  log: Logger,
  givenUp: AbortSignal,
): Promise<T> {
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(LONGEST_PAUSE_MS, pause * 2)) {
    try {
      return await write()
    } catch (error) {
      if (!mayPass(error) || givenUp.aborted) throw error
      logFailure(log, error, 'the database is away; holding on to an answer until it is back')
    }
    // An abort only ends the pause: one last try follows.
    await sleep(pause, undefined, { signal: givenUp }).catch(() => {})
  }
}
