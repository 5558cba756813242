import { setTimeout as sleep } from 'node:timers/promises'

/** Asks again and again until there is an answer, or throws when it takes too long. */
export async function until<T>(
  what: string,
  ask: () => Promise<T | null | undefined | false>,
  { withinMs, everyMs = 20 }: { withinMs: number; everyMs?: number },
): Promise<T> {
  const end = performance.now() + withinMs
  for (;;) {
    const answer = await ask()
    if (answer) return answer
    if (performance.now() > end) throw new Error(`${what}: not within ${withinMs / 1000} s`)
    await sleep(everyMs)
  }
}
