import type { Sql } from '../../packages/server/src/database/connect.ts'

export interface SeenClaim {
  externalId: string
  /** How late it was when the claim began, by the database's clock. */
  lagMs: number
}

/** Occurs in the statement that claims polls, and in no other. */
const MARK = 'as "plannedMs"'

/**
 * The same pool, but `onClaim` hears of every claim of polls: what the database answered to the engine, and how long
 * it took from asking to the answer. The buckets of the Prometheus metric are too coarse to judge a percentile by.
 */
export function watchClaims(
  sql: Sql,
  onClaim: (rows: readonly SeenClaim[], askedAt: number, tookMs: number) => void,
): Sql {
  return new Proxy(sql, {
    apply(target, self, parameters: unknown[]) {
      const query = Reflect.apply(target, self, parameters)
      const [strings] = parameters
      if (Array.isArray(strings) && strings.some((part) => String(part).includes(MARK))) {
        const askedAt = performance.now()
        void query.then(
          (rows: SeenClaim[]) => onClaim(rows, askedAt, performance.now() - askedAt),
          // The engine hears of it too, and logs it.
          () => {},
        )
      }
      return query
    },
  })
}
