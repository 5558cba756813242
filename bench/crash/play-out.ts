import { setTimeout as sleep } from 'node:timers/promises'
import { DIES_WITHIN_MS, LAST_STEPS_MS } from './crash-case.ts'
import type { Stage } from './stage.ts'
import type { ServerProcess } from './start-server-process.ts'

/**
 * Waits for the end, by the watched server or by the one that follows it should it die or stop. Tells whether it died.
 * `done` gives up by itself: what has not come to its end by then is for the checks to say.
 */
export async function playOut(
  stage: Stage,
  watched: ServerProcess,
  { dies, done }: { dies: boolean; done(): Promise<unknown> },
): Promise<boolean> {
  await done()
  await Promise.race([watched.died, sleep(dies ? DIES_WITHIN_MS : LAST_STEPS_MS)])
  if (watched.isAlive()) return false
  await stage.succeeded()
  await done()
  return watched.wasKilled()
}
