import { deadLettersQuery } from '@holdfast/shared/schemas'
import { Hono } from 'hono'
import { discardDeadLetter, listDeadLetters, retryDeadLetter } from '../dead-letters/dead-letters.ts'
import { HoldfastError } from '../errors.ts'
import { adminCreditRoutes } from './admin-credits.ts'
import type { AppContext, AppEnv } from './app-context.ts'
import { readId, readQuery } from './read-input.ts'

/** What operators do (E7). Everyone else is told that it is not allowed. */
export function adminRoutes(context: AppContext) {
  const { sql, submit } = context
  return new Hono<AppEnv>()
    .use(async (c, next) => {
      if (!c.get('identity').admin) throw new HoldfastError('FORBIDDEN', 'This is for administrators.')
      await next()
    })
    .get('/dead-letters', async (c) => {
      const { cursor } = readQuery(c, deadLettersQuery)
      return c.json({ deadLetters: await listDeadLetters(sql, cursor ?? null) })
    })
    .post('/dead-letters/:id/retry', async (c) => {
      const { task } = await retryDeadLetter(context, submit, readId(c, 'dead letter'), c.get('traceId'))
      return c.json({ task }, 201)
    })
    .post('/dead-letters/:id/discard', async (c) => {
      await discardDeadLetter(sql, readId(c, 'dead letter'))
      return c.json({ discarded: true })
    })
    .route('/credits', adminCreditRoutes(context))
}
