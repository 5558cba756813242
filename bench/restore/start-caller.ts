import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

export interface Call {
  path: string
  headers: Record<string, string>
  /** A POST of this; without it a GET. */
  body?: string
}

/** Milliseconds of each answer, by call. */
export type Timed = number[][]

export interface Caller {
  /** All of them in turn, `times` each. */
  ask(calls: readonly Call[], times: number): Promise<Timed>
  stop(): void
}

const WARM_UP = 200

export function startCaller(url: string): Caller {
  const caller = fork(join(import.meta.dirname, 'caller-process.ts'), [url])
  const died = once(caller, 'exit').then((): never => {
    throw new Error('The caller has died.')
  })
  // Whoever asks is told; that it ends after the last question is nobody's trouble.
  died.catch(() => {})
  return {
    async ask(calls, times) {
      caller.send({ calls, times, warmUp: WARM_UP })
      const [timed] = await Promise.race([once(caller, 'message'), died])
      return timed
    },
    stop: () => void caller.disconnect(),
  }
}
