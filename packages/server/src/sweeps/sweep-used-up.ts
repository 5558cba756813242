import type { SweepContext } from './run-sweeps.ts'

const MOST = 10_000

/**
 * Rows that have had their time: idempotency keys past their 30 days, shares of replicas that are gone, and the names
 * of webhooks heard long ago.
 */
export async function sweepUsedUp({ sql }: SweepContext): Promise<number> {
  const keys = await sql`
    delete from holdfast.idempotency_keys where (user_id, key) in (
      select user_id, key from holdfast.idempotency_keys where expires_at <= now() order by expires_at limit ${MOST}
    )
  `
  const shares = await sql`delete from holdfast.budget_shares where expires_at <= now() - interval '1 h'`
  const heard = await sql`
    delete from holdfast.webhook_deliveries where ctid = any(array(
      select ctid from holdfast.webhook_deliveries where received_at <= now() - interval '7 days' order by received_at limit ${MOST}
    ))
  `
  return keys.count + shares.count + heard.count
}
