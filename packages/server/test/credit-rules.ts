import type { Sql } from '../src/database/connect.ts'

/** Whatever in the tables breaks a rule about credits (F13), in words; empty when all is well. */
export async function findCreditViolations(sql: Sql): Promise<string[]> {
  const rows = await sql<{ violation: string }[]>`
    with
    entry as (
      select user_id, task_id, kind, amount, coalesce(hold_amount, amount) as hold, shortfall from holdfast.credit_ledger
    ),
    sums as (
      select user_id,
        sum(case kind when 'grant' then amount when 'adjust' then amount when 'refund' then amount when 'hold' then -amount else hold - amount end) as balance,
        sum(case kind when 'hold' then amount when 'capture' then -hold when 'refund' then -amount else 0 end) as held
      from entry group by user_id
    ),
    per_task as (
      select task_id,
        count(*) filter (where kind = 'hold') as holds, count(*) filter (where kind = 'capture') as captures,
        count(*) filter (where kind = 'refund') as refunds, count(*) filter (where kind = 'adjust') as adjusts,
        coalesce(sum(amount) filter (where kind = 'capture'), 0) - coalesce(sum(amount) filter (where kind = 'adjust'), 0) as spent,
        coalesce(sum(case kind when 'capture' then greatest(hold - amount, 0) when 'hold' then 0 else amount end), 0) as returned
      from entry where task_id is not null group by task_id
    )
    select format('%s has %s, but the ledger adds up to %s', a.user_id, a.balance, s.balance) as violation
    from holdfast.credit_accounts a left join sums s using (user_id) where a.balance <> coalesce(s.balance, 0)
    union all
    select format('%s has %s held, but the ledger adds up to %s', a.user_id, a.held, s.held)
    from holdfast.credit_accounts a left join sums s using (user_id) where a.held <> coalesce(s.held, 0)
    union all
    select format('%s has %s and %s held', user_id, balance, held)
    from holdfast.credit_accounts where balance < 0 or held < 0
    union all
    select format('task %s has ended as %s with an open hold', t.id, t.status)
    from holdfast.tasks t left join per_task p on p.task_id = t.id
    where t.finished_at is not null and t.credits_held > 0 and coalesce(p.captures + p.refunds, 0) = 0
      -- Cancelled while its create was under way: the work that finds out what became of it is still there.
      and not (t.status = 'cancelled' and exists (select from holdfast.work w where w.task_id = t.id and w.kind = 'send'))
    union all
    select format('task %s has not ended, but its hold has', t.id)
    from holdfast.tasks t join per_task p on p.task_id = t.id
    where t.finished_at is null and p.captures + p.refunds > 0
    union all
    select format('task %s has %s holds, %s captures, %s refunds and %s adjustments', task_id, holds, captures, refunds, adjusts)
    from per_task where holds <> 1 or captures + refunds > 1 or adjusts > captures
    union all
    select format('task %s %s, but the ledger says otherwise', t.id, t.status)
    from holdfast.tasks t join per_task p on p.task_id = t.id
    where (t.status = 'completed' and p.captures <> 1) or (t.status = 'failed' and p.refunds <> 1)
    union all
    select format('task %s says that %s are held, and the ledger does not', t.id, t.credits_held)
    from holdfast.tasks t left join entry e on e.task_id = t.id and e.kind = 'hold'
    where t.credits_held <> coalesce(e.amount, 0)
    union all
    select format('task %s says that %s were spent and %s returned, and the ledger says %s and %s', t.id, t.credits_spent, t.credits_returned, p.spent, p.returned)
    from holdfast.tasks t left join per_task p on p.task_id = t.id
    where (t.credits_spent, t.credits_returned) is distinct from (coalesce(p.spent, 0)::bigint, coalesce(p.returned, 0)::bigint)
    union all
    select format('the message of task %s says that it cost %s', m.task_id, m.credits_spent)
    from holdfast.messages m left join entry e on e.task_id = m.task_id and e.kind = 'capture'
    where m.task_id is not null and m.credits_spent <> coalesce(e.amount, 0)
  `
  return rows.map(({ violation }) => violation)
}
