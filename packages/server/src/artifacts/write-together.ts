import { setTimeout as sleep } from 'node:timers/promises'
import { isDatabaseAway } from '../database/database-errors.ts'

const MOST = 200
/** So many commits a second are enough, however many files there are: each makes a disk wait that files go to, too. */
const EVERY_MS = 100

/**
 * Writes what concurrent callers have in one go: the first at once, and what comes within a moment after it, or while
 * it is under way, with the next one. Each caller waits for its own item. `write` returns one answer per item, in their
 * order.
 */
export function writeTogether<T, R>(
  write: (items: T[]) => Promise<R[]>,
  everyMs = EVERY_MS,
): (item: T) => Promise<R> {
  const waiting: { item: T; resolve: (answer: R) => void; reject: (error: unknown) => void }[] = []
  let writing = false

  async function send(batch: typeof waiting): Promise<void> {
    try {
      const answers = await write(batch.map(({ item }) => item))
      for (const [index, { resolve }] of batch.entries()) resolve(answers[index] as R)
    } catch (error) {
      // One that cannot be written must not take the others with it.
      if (batch.length > 1 && !isDatabaseAway(error)) for (const each of batch) await send([each])
      else for (const { reject } of batch) reject(error)
    }
  }

  async function sendAll(): Promise<void> {
    writing = true
    // Whoever asks in the same turn of the event loop comes along.
    await Promise.resolve()
    while (waiting.length > 0) {
      const pause = sleep(waiting.length > MOST ? 0 : everyMs)
      await send(waiting.splice(0, MOST))
      await pause
    }
    writing = false
  }

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject })
      if (!writing) void sendAll()
    })
}
