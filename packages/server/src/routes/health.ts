import { Hono } from 'hono'
import { NotReady } from '../database/assert-ready.ts'
import { HoldfastError } from '../errors.ts'
import type { AppContext, AppEnv } from './app-context.ts'

const RETRY_AFTER_SECONDS = 2
/** For so long one answer of the database serves all who ask: it is open to everybody, and may not cost a query each. */
const READY_FOR_MS = 1_000

/** `/healthz`: the process lives. `/readyz`: it can also reach its database, whose schema is as it needs it. Open to all. */
export function healthRoutes({ ready, isLockAway }: Pick<AppContext, 'ready' | 'isLockAway'>) {
  let asked: { at: number; answer: Promise<void> } | null = null

  async function askDatabase(): Promise<void> {
    const at = performance.now()
    if (!asked || at - asked.at >= READY_FOR_MS) asked = { at, answer: ready() }
    await asked.answer
  }

  return new Hono<AppEnv>()
    .get('/healthz', (c) => c.json({ status: 'ok' }))
    .get('/readyz', async (c) => {
      await askDatabase().catch((error: unknown) => {
        // Where the database is, and as whom, is nobody's business.
        const isOurs = error instanceof NotReady && error.cause === undefined
        throw new HoldfastError(
          'UNAVAILABLE',
          isOurs ? error.message : 'The database cannot be reached right now.',
          {
            cause: error,
            retryAfterSeconds: RETRY_AFTER_SECONDS,
          },
        )
      })
      // Callers can be served all the same: to turn them away from every replica would only add to it.
      return c.json(
        isLockAway() ? { status: 'ready', work: 'paused: the lock cannot be reached' } : { status: 'ready' },
      )
    })
}
