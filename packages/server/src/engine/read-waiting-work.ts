import type { Sql } from '../database/connect.ts'

/** The steps of one kind at one provider that are due and that nobody has claimed. */
export interface WaitingWork {
  provider: string
  kind: string
  /** Counted up to 5,000 in each lane. */
  count: number
  oldestMs: number
  /** Somebody should have claimed some of it by now: the budget would have let it through, and nobody claims at all. */
  isLeft: boolean
}

/** A claim comes within a moment of the due time, and a takeover of the lock within half a minute or so. */
const LEFT_AFTER_MS = 60_000
const MOST_COUNTED = 5_000

/**
 * Looks at what is due, whatever its provider, also one that no server knows any more. From one provider and lane the
 * index leads to the next, so that only due rows are read, and of those no more than are counted.
 *
 * Work is left when it has been due for a minute while nobody claimed anything of its provider. Somebody who works
 * claims all the time, and while the circuit is open at least a probe every half minute; a share says that calls are
 * under way. What waits for the budget, or for a pause that the provider asked for, is not left.
 */
export function readWaitingWork(sql: Sql): Promise<WaitingWork[]> {
  return sql<WaitingWork[]>`
    with recursive ${queuesOf(sql, 'polled', POLLED(sql))}, ${queuesOf(sql, 'sent', SENT(sql))},
    waiting as (
      select kind, provider, sum(count)::int as count, min(oldest) as oldest,
        case kind when 'send' then 'create' when 'poll' then 'query' when 'cancel' then 'query' end as operation
      from (
        select q.kind, q.provider, d.* from polled q cross join lateral (${dueOf(sql, POLLED(sql))}) d
        union all
        select q.kind, q.provider, d.* from sent q cross join lateral (${dueOf(sql, SENT(sql))}) d
        union all
        select w.kind, w.provider, count(*), min(w.due_at) from (
          select w.kind, w.provider, w.due_at from holdfast.work w where w.kind = 'copy' and w.due_at <= now()
          order by w.needed_by, w.due_at limit ${MOST_COUNTED}
        ) w group by w.kind, w.provider
      ) found
      where count > 0
      group by kind, provider
    )
    select w.provider, w.kind, w.count, (extract(epoch from now() - w.oldest) * 1000)::float8 as "oldestMs",
      w.operation is not null
        and greatest(
          w.oldest,
          -- When the budget had one to give, and when a pause was over.
          b.refilled_at + least(greatest(0, 1 - b.tokens) / b.per_second, 1e7) * interval '1 s',
          b.paused_until,
          (select max(c.refilled_at) from holdfast.budgets c where c.provider = w.provider)
        ) <= now() - ${LEFT_AFTER_MS} * interval '1 ms'
        and not exists (
          select from holdfast.budget_shares s
          where s.provider = w.provider and s.in_flight > 0 and s.expires_at > now()
        ) as "isLeft"
    from waiting w left join holdfast.budgets b on b.provider = w.provider and b.operation = w.operation
    order by w.provider, w.kind
  `
}

// In the words of the indexes: PostgreSQL must see which of them has the rows.
const POLLED = (sql: Sql) => sql`w.kind in ('poll', 'cancel', 'deliver')`
const SENT = (sql: Sql) => sql`w.kind in ('send', 'run')`

/** From one queue the index leads to the next, so that no more rows are read than there are queues. */
function queuesOf(sql: Sql, name: 'polled' | 'sent', kinds: ReturnType<typeof POLLED>) {
  return sql`
    ${sql(name)} as (
      (select w.kind, w.provider, w.lane from holdfast.work w where ${kinds} order by w.kind, w.provider, w.lane limit 1)
      union all
      select n.kind, n.provider, n.lane from ${sql(name)} q cross join lateral (
        select w.kind, w.provider, w.lane from holdfast.work w
        where ${kinds} and (w.kind, w.provider, w.lane) > (q.kind, q.provider, q.lane)
        order by w.kind, w.provider, w.lane limit 1
      ) n
    )
  `
}

function dueOf(sql: Sql, kinds: ReturnType<typeof POLLED>) {
  return sql`
    select count(*) as count, min(due_at) as oldest from (
      select w.due_at from holdfast.work w
      where ${kinds} and w.kind = q.kind and w.provider = q.provider and w.lane = q.lane and w.due_at <= now()
      limit ${MOST_COUNTED}
    ) counted
  `
}
