import { eachWithLimit } from '../poll/each-with-limit.ts'
import type { Callers, Submitted } from './callers.ts'
import type { VendorProcess } from './start-vendor-process.ts'

const LOOK_EVERY_MS = 10
const CHECKED_AT_ONCE = 8
/** Of the others, one in so many is looked at when the clock has stopped. */
const SAMPLE = 20

/**
 * Waits until every file is stored and returns when that was. The vendor knows when the last file was fetched, which
 * costs a contender nothing; then the contender is asked about those fetched last.
 */
export async function untilStored(
  vendor: VendorProcess,
  callers: Callers,
  submitted: Submitted[],
  withinMs: number,
): Promise<number> {
  const byPrompt = new Map(submitted.map((task) => [task.prompt, task]))
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new Error(`Not every file was fetched within ${withinMs / 1_000} s.`)),
      withinMs,
    )
  })
  const last = await Promise.race([vendor.served(submitted.length), late]).finally(() => clearTimeout(timer))
  const lastTasks = last.flatMap((prompt) => byPrompt.get(prompt) ?? [])
  const giveUpAt = performance.now() + withinMs
  for (const task of lastTasks.slice(0, 1)) await isStoredAtLast(task)
  await eachWithLimit(lastTasks.slice(1), CHECKED_AT_ONCE, isStoredAtLast)
  const storedAt = performance.now()

  const sample = submitted.filter((_, index) => index % SAMPLE === 0)
  await eachWithLimit(sample, CHECKED_AT_ONCE, async (task) => {
    if (!(await callers.isStored(task))) throw new Error(`Task ${task.id} has no stored file.`)
  })
  return storedAt

  async function isStoredAtLast(task: Submitted): Promise<void> {
    while (!(await callers.isStored(task))) {
      if (performance.now() > giveUpAt) throw new Error(`The file of task ${task.id} was never stored.`)
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS))
    }
  }
}
