/** Asks over HTTP, one question after the other, in a process of its own: what it costs to ask is not the server's. */
import { Pool } from 'undici'
import type { Call, Timed } from './start-caller.ts'

const pool = new Pool(process.argv[2] ?? '', { connections: 1 })

/** Reads the answer and throws it away, so that the caller's own garbage does not stop the clock. */
function ask({ path, headers, body }: Call): Promise<number> {
  const startedAt = performance.now()
  return new Promise((resolve, reject) => {
    pool.dispatch(
      { path, method: body === undefined ? 'GET' : 'POST', headers, body: body ?? null },
      {
        onRequestStart() {},
        onResponseStart(_controller, status) {
          if (status >= 400) reject(new Error(`${path} answered ${status}.`))
        },
        onResponseData() {},
        onResponseEnd: () => resolve(performance.now() - startedAt),
        onResponseError: (_controller, error) => reject(error),
      },
    )
  })
}

process.on('message', async ({ calls, warmUp, times }: { calls: Call[]; warmUp: number; times: number }) => {
  const timed: Timed = calls.map(() => [])
  for (let n = 0; n < warmUp + times; n += 1) {
    // In turn, so that all have the same moments of the machine.
    for (const [index, call] of calls.entries()) {
      const ms = await ask(call)
      if (n >= warmUp) timed[index]?.push(ms)
    }
  }
  process.send?.(timed)
})
process.on('disconnect', () => process.exit(0))
