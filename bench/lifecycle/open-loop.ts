import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Begins so many calls a second, whether or not the ones before were answered, and waits for all of them. `call` is told
 * when it was due, by this process's own clock.
 */
export async function openLoop(
  { perSecond, seconds }: { perSecond: number; seconds: number },
  call: (dueAt: number) => Promise<void>,
): Promise<void> {
  const answers: Promise<void>[] = []
  const began = performance.now()
  const total = perSecond * seconds
  while (answers.length < total) {
    const elapsed = performance.now() - began
    const due = Math.min(total, Math.floor((elapsed / 1_000) * perSecond) + 1)
    while (answers.length < due) {
      const answer = call(began + (answers.length / perSecond) * 1_000)
      // Thrown below, when all have been sent.
      answer.catch(() => {})
      answers.push(answer)
    }
    await sleep(1)
  }
  await Promise.all(answers)
}
