import { creditAuditQuery, creditGrantBody, creditRefundBody } from '@holdfast/shared/schemas'
import { Hono } from 'hono'
import { HoldfastError } from '../errors.ts'
import { giveBack } from '../plugins/credits/give-back.ts'
import { grantCredits } from '../plugins/credits/grant-credits.ts'
import { toCreditEntry } from '../plugins/credits/ledger-row.ts'
import { auditEntries } from '../plugins/credits/list-entries.ts'
import type { AppContext, AppEnv } from './app-context.ts'
import { readBody, readIdempotencyKey, readQuery } from './read-input.ts'

/** What administrators do to credits (F13). The ledger can also be read where credits are switched off by now. */
export function adminCreditRoutes(context: AppContext) {
  const { sql, credits } = context
  return new Hono<AppEnv>()
    .get('/audit', async (c) => c.json(await auditEntries(sql, readQuery(c, creditAuditQuery))))
    .post('/refunds', async (c) => {
      const { taskId, reason } = await readBody(c, creditRefundBody)
      const { entry, given } = await giveBack(context, { taskId, reason, actor: c.get('identity').userId })
      return c.json({ entry: toCreditEntry(entry) }, given ? 201 : 200)
    })
    .post('/grants', async (c) => {
      const key = readIdempotencyKey(c)
      const grant = await readBody(c, creditGrantBody)
      if (credits === false) throw new HoldfastError('NOT_FOUND', 'Credits are switched off at this server.')
      if (key === null) {
        throw new HoldfastError(
          'IDEMPOTENCY_KEY_INVALID',
          'Send an Idempotency-Key, such as a UUID, so that a repeated request does not give twice.',
        )
      }
      const { entry, given } = await grantCredits(sql, {
        ...grant,
        actor: c.get('identity').userId,
        key: `http:${key}`,
        keyIs: 'for all',
        initial: credits.initial ?? 0,
      })
      return c.json({ entry: toCreditEntry(entry) }, given ? 201 : 200)
    })
}
