import type { Lane } from '@holdfast/shared'
import type { PendingQuery, Row } from 'postgres'
import type { Sql } from '../database/connect.ts'
import { LANE_WEIGHTS } from './lanes.ts'
import { OPERATION_OF, type WorkKind } from './work-kind.ts'

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

/** In which order what is due in a lane is claimed. Each has an index of its own. */
const ORDER_OF: Record<WorkKind, (sql: Sql) => Fragment> = {
  submit: (sql) => sql`w.priority desc, w.turn, w.id`,
  poll: (sql) => sql`w.due_at`,
  cancel: (sql) => sql`w.due_at`,
}

/** The kind is a part of the statement's text: indexes are for some kinds, and PostgreSQL has to see for which this is. */
function dueIn(sql: Sql, kind: WorkKind, provider: string): Fragment {
  const literal = { submit: sql`'submit'`, poll: sql`'poll'`, cancel: sql`'cancel'` }[kind]
  return sql`w.kind = ${literal} and w.provider = ${provider} and w.due_at <= now()`
}

/**
 * The beginning of every claim: decides how many may go (budget, calls in flight, a share for each lane with due
 * work), locks that many due rows, in the order of their kind, as `due (at, task_id, due_at)`, and writes down what was spent.
 * All in the statement that claims, under the lock of the budget's row, so that it holds over all replicas.
 *
 * Lookups are laterals with `limit 1`: they keep the planner at index lookups where its estimates of the rows of a
 * CTE would make it read whole tables.
 */
export function dueWithinBudget(sql: Sql, kind: WorkKind, options: ClaimOptions) {
  const { provider, lanes, limit, replica, inFlight, leaseMs } = options
  const operation = OPERATION_OF[kind]
  const weights = lanes.map((lane) => LANE_WEIGHTS[lane])
  const isDue = dueIn(sql, kind, provider)
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
        b.max_in_flight, b.paused_until, c.read_at
      from budget b, clock c
    ),
    granted as materialized (
      select b.tokens, b.read_at, case when b.paused_until > clock_timestamp() then 0 else greatest(0, least(
        floor(b.tokens),
        b.max_in_flight - ${inFlight}::int - holdfast.calls_of_others(${provider}, ${operation}, ${replica}),
        ${limit}::int
      ))::int end as count, random() as luck
      from filled b
    ),
    -- Whole shares that add up to the count. Chance decides which lane gets what cannot be divided: rounding up instead
    -- would give everything to the first lanes whenever only a few may go at a time.
    shares as materialized (
      select s.lane, (floor(s.count * s.upto / s.total + s.luck) - floor(s.count * (s.upto - s.weight) / s.total + s.luck))::int as count
      from (
        select l.lane, l.weight, g.luck, g.count::float8 as count,
          sum(l.weight) over (order by l.position) as upto, sum(l.weight) over () as total
        from unnest(${lanes as Lane[]}::text[], ${weights}::int[]) with ordinality as l (lane, weight, position), granted g
        where g.count > 0 and exists (select from holdfast.work w where ${isDue} and w.lane = l.lane)
      ) s
    ),
    due as materialized (
      select d.at, d.task_id, d.due_at
      from shares s cross join lateral (
        select w.ctid as at, w.task_id, w.due_at from holdfast.work w where ${isDue} and w.lane = s.lane
        order by ${ORDER_OF[kind](sql)} limit s.count for update skip locked
      ) d
      limit (select count from granted)
    ),
    spent as (
      update holdfast.budgets b set tokens = g.tokens - (select count(*) from due), refilled_at = g.read_at
      from granted g
      where b.provider = ${provider} and b.operation = ${operation} and exists (select from due)
    ),
    -- Also when nothing was claimed, so that others learn within a moment of calls that have ended; but only changes.
    under_way as (
      insert into holdfast.budget_shares as s (provider, operation, replica, in_flight, expires_at)
      select ${provider}, ${operation}, ${replica}, ${inFlight}::int + count(*), clock_timestamp() + ${leaseMs}::float8 * interval '1 ms'
      from due having ${inFlight}::int + count(*) > 0
        or exists (select from holdfast.budget_shares where provider = ${provider} and operation = ${operation} and replica = ${replica})
      on conflict (provider, operation, replica) do update set in_flight = excluded.in_flight, expires_at = excluded.expires_at
      where s.in_flight <> excluded.in_flight or (excluded.in_flight > 0 and s.expires_at < excluded.expires_at - interval '1 s')
    )
  `
}
