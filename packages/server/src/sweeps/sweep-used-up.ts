import type { SweepContext } from './run-sweeps.ts'

const MOST = 10_000

/** Rows that have had their time: idempotency keys past their 30 days, shares of replicas that are gone. */
export async function sweepUsedUp({ sql }: SweepContext): Promise<number> {
  const keys = await sql`
    delete from holdfast.idempotency_keys where (user_id, key) in (
      select user_id, key from holdfast.idempotency_keys where expires_at <= now() order by expires_at limit ${MOST}
    )
  `
  const shares = await sql`delete from holdfast.budget_shares where expires_at <= now() - interval '1 h'`
  return keys.count + shares.count
}
