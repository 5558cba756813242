import type { Sql } from '../database/connect.ts'
import type { OperationLimit, Provider } from '../providers/provider.ts'

/** What a provider's limits are given for. */
export type Operation = 'create' | 'query'

/** A twentieth of a second's worth at once: calls are spread, and no second sees more than 5 % above the rate. */
const BURST_SECONDS = 0.05

export function burstOf(limit: OperationLimit): number {
  return Math.max(1, limit.burst ?? limit.perSecond * BURST_SECONDS)
}

/** Writes down what a provider takes. Tokens already spent stay spent. */
export async function ensureBudgets(sql: Sql, provider: Provider): Promise<void> {
  for (const operation of ['create', 'query'] as const) {
    const limit = provider.limits[operation]
    const burst = burstOf(limit)
    await sql`
      insert into holdfast.budgets as b (provider, operation, per_second, burst, max_in_flight, tokens)
      values (${provider.name}, ${operation}, ${limit.perSecond}, ${burst}, ${limit.inFlight}, ${burst})
      on conflict (provider, operation) do update set
        per_second = excluded.per_second, burst = excluded.burst, max_in_flight = excluded.max_in_flight,
        tokens = least(b.tokens, excluded.burst)
      where (b.per_second, b.burst, b.max_in_flight) is distinct from (excluded.per_second, excluded.burst, excluded.max_in_flight)
    `
  }
}

/** The provider said "not before": nobody asks until then, on any replica. */
export async function pauseBudget(
  sql: Sql,
  provider: string,
  operation: Operation,
  ms: number,
): Promise<void> {
  await sql`
    update holdfast.budgets set paused_until = greatest(paused_until, now() + ${ms}::float8 * interval '1 ms')
    where provider = ${provider} and operation = ${operation}
  `
}

/** This replica has nothing under way any more; the others need not wait to find out. */
export async function returnShares(sql: Sql, provider: string, replica: string): Promise<void> {
  await sql`delete from holdfast.budget_shares where provider = ${provider} and replica = ${replica}`
}
