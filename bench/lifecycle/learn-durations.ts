import { setTimeout as sleep } from 'node:timers/promises'
import { openCallers } from './callers.ts'
import { CALLERS, type ContenderName, type ContenderSettings } from './settings.ts'
import { startContender } from './start-contender.ts'
import type { VendorProcess } from './start-vendor-process.ts'
import { untilStored } from './until-stored.ts'

/** Holdfast plans by what it has learned from 30 ends on. */
const TASKS = 400
/** The learning process writes what it learned every half second. */
const WRITTEN_AFTER_MS = 1_500
const WITHIN_MS = 60_000

/**
 * Lets Holdfast learn how long a generation takes. A type that it does not know is first polled after 30 s, unless
 * somebody watches: so every user's stream is open here, and polls come often. The database keeps what was learned.
 */
export async function learnDurations(
  contender: ContenderName,
  settings: ContenderSettings,
  vendor: VendorProcess,
): Promise<void> {
  const server = await startContender(contender, { ...settings, learning: true })
  const callers = await openCallers(server.url)
  const watching = new AbortController()
  try {
    // Task n is user n's.
    for (let user = 1; user <= TASKS; user += 1) {
      const stream = await fetch(`${server.url}/v1/stream`, {
        headers: { authorization: `Bearer ${callers.token(user)}` },
        signal: watching.signal,
      })
      if (stream.status !== 200) throw new Error(`A stream was answered with ${stream.status}.`)
    }
    await vendor.reset()
    const { submitted } = await callers.closedLoop({ tasks: TASKS, callers: CALLERS })
    await untilStored(vendor, callers, submitted, WITHIN_MS)
    await sleep(WRITTEN_AFTER_MS)
  } catch (error) {
    throw new Error(`${contender} could not learn durations:\n${server.said().slice(-3_000)}`, {
      cause: error,
    })
  } finally {
    watching.abort()
    await callers.close()
    await server.stop()
  }
}
