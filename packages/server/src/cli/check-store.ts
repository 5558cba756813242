import type { Logger } from 'pino'
import type { ObjectStore } from '../objects/object-store.ts'
import { ObjectStoreError } from '../objects/object-store-error.ts'

const LONGEST_WAIT_MS = 5_000

/**
 * A store that is set up wrongly keeps the server from starting: what it cannot keep is lost when its source expires.
 * One that is only out of reach does not: files wait at their providers, and are copied when it is back.
 */
export async function checkStore(objects: ObjectStore, log: Logger): Promise<void> {
  try {
    await objects.check(AbortSignal.timeout(LONGEST_WAIT_MS))
  } catch (error) {
    if (error instanceof ObjectStoreError && error.code === 'STORE_UNUSABLE') throw error
    const reason = error instanceof Error ? error.message : String(error)
    log.warn({ store: objects.name, reason }, 'the object store could not be checked; starting without')
  }
}
