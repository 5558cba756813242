import { Hono } from 'hono'
import type { AppContext, AppEnv } from './app-context.ts'

/** `/healthz`: the process lives. `/readyz`: it can also reach its database. Open to all. */
export function healthRoutes({ sql }: AppContext) {
  return new Hono<AppEnv>()
    .get('/healthz', (c) => c.json({ status: 'ok' }))
    .get('/readyz', async (c) => {
      await sql`select 1`
      return c.json({ status: 'ready' })
    })
}
