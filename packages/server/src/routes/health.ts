import { Hono } from 'hono'
import type { AppContext, AppEnv } from './app-context.ts'

/** For so long one answer of the database serves all who ask: it is open to everybody, and may not cost a query each. */
const READY_FOR_MS = 1_000

/** `/healthz`: the process lives. `/readyz`: it can also reach its database. Open to all. */
export function healthRoutes({ sql }: AppContext) {
  let asked: { at: number; answer: Promise<unknown> } | null = null

  async function askDatabase(): Promise<void> {
    const at = performance.now()
    if (!asked || at - asked.at >= READY_FOR_MS) asked = { at, answer: sql`select 1`.execute() }
    await asked.answer
  }

  return new Hono<AppEnv>()
    .get('/healthz', (c) => c.json({ status: 'ok' }))
    .get('/readyz', async (c) => {
      await askDatabase()
      return c.json({ status: 'ready' })
    })
}
