import type { TaskStatus } from '@holdfast/shared'
import type postgres from 'postgres'

/** What a request can change. */
export interface AskState {
  /** Oldest first. */
  tasks: { status: TaskStatus; failureCode: string | null; externalId: string | null; unsaved: string[] }[]
  keys: number
  conversations: number
  unread: number
  /** Oldest first, such as `send open` or `deliver retried`. */
  letters: string[]
  /** Every entry of the ledger, such as `hold 4`. */
  ledger: string[]
  /** Whether each account is what its entries come to. */
  isEven: boolean
  untold: { waiting: number; givenUp: number }
  /** Webhooks that were received, by their ids. */
  received: number
  /** External ids that a webhook told of before the reply to the create did. */
  reported: number
  workRows: number
  /** Rows that a plugin of the application's own has written, where it has a table. */
  remembered: number | null
}

export async function readAskState(sql: postgres.Sql): Promise<AskState> {
  const [table] = await sql<[{ has: boolean }]>`select to_regclass('remembered') is not null as has`
  // One statement, so that it is one moment.
  const [row] = await sql<[{ state: AskState }]>`
    select json_build_object(
      'tasks', (
        select coalesce(json_agg(json_build_object(
          'status', t.status, 'failureCode', t.failure_code, 'externalId', j.external_id, 'unsaved', t.unsaved
        ) order by t.id), '[]')
        from holdfast.tasks t left join holdfast.provider_jobs j on j.task_id = t.id
      ),
      'keys', (select count(*) from holdfast.idempotency_keys),
      'conversations', (select count(*) from holdfast.conversations),
      'unread', (select coalesce(sum(unread_count), 0) from holdfast.conversations),
      'letters', (
        select coalesce(json_agg(kind || ' ' || coalesce(resolution, 'open') order by id), '[]') from holdfast.dead_letters
      ),
      'ledger', (select coalesce(json_agg(kind || ' ' || amount order by kind, amount), '[]') from holdfast.credit_ledger),
      'isEven', (
        select not exists (
          select from holdfast.credit_accounts a where a.balance <> (
            select coalesce(sum(case kind when 'hold' then -amount when 'capture' then 0 else amount end), 0)
            from holdfast.credit_ledger l where l.user_id = a.user_id
          )
        )
      ),
      'untold', (
        select json_build_object(
          'waiting', count(*) filter (where failed_at is null), 'givenUp', count(*) filter (where failed_at is not null)
        )
        from holdfast.deliveries
      ),
      'received', (select count(*) from holdfast.webhook_deliveries),
      'reported', (select count(reported_id) from holdfast.provider_jobs),
      'workRows', (select count(*) from holdfast.work),
      'remembered', ${table.has ? sql`(select count(*) from remembered)` : sql`null::int`}
    ) as state
  `
  return row.state
}

/** Whether nothing is left to be done. */
export function isQuiet({ tasks, workRows, untold }: AskState): boolean {
  return (
    workRows === 0 &&
    untold.waiting === 0 &&
    tasks.every(({ status }) => status !== 'pending' && status !== 'running')
  )
}
