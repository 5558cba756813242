import { LANES, type Lane } from '@holdfast/shared'
import type { PendingQuery, Row } from 'postgres'
import type { Sql } from '../database/connect.ts'
import type { Operation } from './budgets.ts'
import { LANE_WEIGHTS } from './lanes.ts'
import type { Claims } from './work-kind.ts'

type Fragment = PendingQuery<Row[]>

export interface ClaimOptions {
  provider: string
  /** The lanes that this process serves. */
  lanes: readonly Lane[]
  /** At most so many. */
  limit: number
  /** Who claims: what it has under way counts against the limit for calls in flight. */
  replica: string
  /** What it has under way of this operation right now. */
  inFlight: number
  /** The longest that a call may take, with a margin: a claim is good for at least that long. */
  leaseMs: number
}

/** A kind of work that a provider's budget allows. Its name is a part of the statement's text, so that PostgreSQL sees which index is for it. */
export interface BudgetedKind {
  name: Fragment
  operation: Operation
  /** In which order what is due in a lane `w` is claimed. Each has an index of its own. */
  order: Fragment
}

/**
 * The beginning of every claim: decides how many may go (budget, calls in flight, a share for each lane with due
 * work), locks that many due rows, in the order of their kind, as `due (at, task_id, due_at)`, and writes down what was spent.
 * All in the statement that claims, under the lock of the budget's row, so that it holds over all replicas.
 *
 * Lookups are laterals with `limit 1`: they keep the planner at index lookups where its estimates of the rows of a
 * CTE would make it read whole tables.
 */
export function dueWithinBudget(sql: Sql, kind: BudgetedKind, options: ClaimOptions) {
  const { provider, lanes, limit, replica, inFlight, leaseMs } = options
  const { operation } = kind
  const own = lanes as Lane[]
  const isPinned = lanes.length < LANES.length
  const weights = LANES.map((lane) => LANE_WEIGHTS[lane])
  const isDue = sql`w.kind = ${kind.name} and w.provider = ${provider} and w.due_at <= now()`
  return sql`
    with budget as materialized (
      select b.burst, b.tokens, b.refilled_at, b.per_second, b.max_in_flight, b.paused_until
      from holdfast.budgets b
      where b.provider = ${provider} and b.operation = ${operation}
      for update
    ),
    -- Looked at once: what comes in from then on, while this claim does its work, counts for the next one.
    clock as materialized (select clock_timestamp() as read_at from budget),
    filled as materialized (
      select
        least(b.burst, b.tokens + greatest(0, extract(epoch from c.read_at - b.refilled_at)) * b.per_second) as tokens,
        b.max_in_flight, b.paused_until, b.burst, b.per_second, c.read_at
      from budget b, clock c
    ),
    granted as materialized (
      select b.tokens, b.read_at, b.paused_until, b.burst, b.per_second, case when b.paused_until > clock_timestamp() then 0 else greatest(0, least(
        floor(b.tokens),
        b.max_in_flight - ${inFlight}::int - holdfast.calls_of_others(${provider}, ${operation}, ${replica}),
        ${limit}::int
      ))::int end as count, random() as luck
      from filled b
    ),
    -- Lanes that other replicas serve and this one does not have their share, too: it is left for them.
    served as materialized (
      select l.lane, l.weight, l.position, l.lane = any(${own}::text[]) as own
      from unnest(${LANES as unknown as Lane[]}::text[], ${weights}::int[]) with ordinality as l (lane, weight, position)
      where l.lane = any(${own}::text[]) ${
        isPinned
          ? sql`or exists (
              select from holdfast.budget_shares s
              where s.provider = ${provider} and s.operation = ${operation} and s.replica <> ${replica}
                and l.lane = any(s.lanes) and s.expires_at > clock_timestamp()
            )`
          : sql``
      }
    ),
    -- Whole shares that add up to the count. Chance decides which lane gets what cannot be divided: rounding up instead
    -- would give everything to the first lanes whenever only a few may go at a time.
    shares as materialized (
      select s.lane, s.own, (floor(s.count * s.upto / s.total + s.luck) - floor(s.count * (s.upto - s.weight) / s.total + s.luck))::int as count
      from (
        select l.lane, l.own, l.weight, g.luck, g.count::float8 as count,
          sum(l.weight) over (order by l.position) as upto, sum(l.weight) over () as total
        from served l, granted g
        where g.count > 0 and exists (select from holdfast.work w where ${isDue} and w.lane = l.lane)
      ) s
    ),
    due as materialized (
      select d.at, d.task_id, d.due_at
      from shares s cross join lateral (
        select w.ctid as at, w.task_id, w.due_at from holdfast.work w where ${isDue} and w.lane = s.lane
        order by ${kind.order} limit s.count for update skip locked
      ) d
      where s.own
      limit (select count from granted)
    ),
    spent as (
      update holdfast.budgets b set tokens = g.tokens - (select count(*) from due), refilled_at = g.read_at
      from granted g
      where b.provider = ${provider} and b.operation = ${operation} and exists (select from due)
    ),
    -- Also when nothing was claimed, so that others learn within a moment of calls that have ended; but only changes.
    under_way as (
      insert into holdfast.budget_shares as s (provider, operation, replica, in_flight, expires_at, lanes)
      select ${provider}, ${operation}, ${replica}, ${inFlight}::int + count(*), clock_timestamp() + ${leaseMs}::float8 * interval '1 ms',
        ${isPinned ? sql`${own}::text[]` : null}
      from due having ${inFlight}::int + count(*) > 0
        -- It waits for its share, and the others have to know.
        ${isPinned ? sql`or exists (select from holdfast.work w where ${isDue} and w.lane = any(${own}::text[]))` : sql``}
        or exists (select from holdfast.budget_shares where provider = ${provider} and operation = ${operation} and replica = ${replica})
      on conflict (provider, operation, replica) do update
        set in_flight = excluded.in_flight, expires_at = excluded.expires_at, lanes = excluded.lanes
      where s.in_flight <> excluded.in_flight or ((excluded.in_flight > 0 or excluded.lanes is not null) and s.expires_at < excluded.expires_at - interval '1 s')
    ),
    -- When to come again for what is due and was not granted. Half of the time in which the budget fills up: what comes
    -- in while it is full is lost, and a pause always takes a little longer than asked for (tried at 50 a second with
    -- the whole time: 28 to 38 went out).
    again as materialized (
      select case
        when d.count >= ${limit}::int then 0
        when d.count >= (
          select count(*) from (select from holdfast.work w where ${isDue} and w.lane = any(${own}::text[]) limit d.count + 1) w
        ) then null
        when g.paused_until > g.read_at then extract(epoch from g.paused_until - g.read_at) * 1000
        else greatest(g.burst / g.per_second * 500, (1 - (g.tokens - d.count)) / g.per_second * 1000)
      end::float8 as retry_ms
      from granted g, (select count(*) as count from due) d
    )
  `
}

/** A row of a claim's answer: the first comes also where nothing was claimed. */
export type ClaimRow<T> = (T | { workId: null }) & { retryMs: number | null }

export function toClaims<T extends { workId: string }>(rows: readonly ClaimRow<T>[]): Claims<T> {
  const retryMs = rows[0]?.retryMs ?? null
  return rows[0]?.workId == null ? { works: [], retryMs } : { works: rows as readonly T[], retryMs }
}
