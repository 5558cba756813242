import type { TaskStatus } from '@holdfast/shared'
import type postgres from 'postgres'

/** What a database with one user's one wish in it holds. */
export interface CaseState {
  tasks: {
    id: string
    status: TaskStatus
    failureCode: string | null
    messageId: string | null
    sending: boolean
    externalId: string | null
    /** Plugins that could not write what they should have at its end. */
    unsaved: string[]
  }[]
  /** The kinds of work that were given up. */
  letters: string[]
  workRows: number
  /** What the application has not been told yet, and never will be. */
  untold: { waiting: number; givenUp: number }
  keys: number
  messages: { id: string; taskId: string }[]
  unread: number
  /** What the user has, and every entry of the ledger, such as `hold 4`. */
  credits: { balance: number; held: number; ledger: string[] }
  artifacts: {
    taskId: string
    messageId: string | null
    state: string
    sourceUrl: string
    objectKey: string | null
    bytes: number | null
    sha256: string | null
    /** Why there is no copy. */
    problem: string | null
  }[]
}

export async function readCaseState(sql: postgres.Sql): Promise<CaseState> {
  // One statement, so that it is one moment.
  const [row] = await sql<[{ state: CaseState }]>`
    select json_build_object(
      'tasks', (
        select coalesce(json_agg(json_build_object(
          'id', t.id, 'status', t.status, 'failureCode', t.failure_code, 'messageId', t.message_id,
          'sending', j.sending_at is not null, 'externalId', j.external_id, 'unsaved', t.unsaved
        )), '[]')
        from holdfast.tasks t left join holdfast.provider_jobs j on j.task_id = t.id
      ),
      'letters', (select coalesce(json_agg(kind), '[]') from holdfast.dead_letters),
      'untold', (
        select json_build_object(
          'waiting', count(*) filter (where failed_at is null), 'givenUp', count(*) filter (where failed_at is not null)
        )
        from holdfast.deliveries
      ),
      'workRows', (select count(*) from holdfast.work),
      'keys', (select count(*) from holdfast.idempotency_keys),
      'messages', (select coalesce(json_agg(json_build_object('id', id, 'taskId', task_id)), '[]') from holdfast.messages),
      'unread', (select coalesce(sum(unread_count), 0) from holdfast.conversations),
      'credits', json_build_object(
        'balance', (select coalesce(sum(balance), 0) from holdfast.credit_accounts),
        'held', (select coalesce(sum(held), 0) from holdfast.credit_accounts),
        'ledger', (select coalesce(json_agg(kind || ' ' || amount order by kind), '[]') from holdfast.credit_ledger)
      ),
      'artifacts', (
        select coalesce(json_agg(json_build_object(
          'taskId', task_id, 'messageId', message_id, 'state', state, 'sourceUrl', source_url, 'objectKey', object_key,
          'bytes', bytes, 'sha256', sha256, 'problem', problem
        )), '[]')
        from holdfast.artifacts
      )
    ) as state
  `
  return row.state
}

export function isFinished({ tasks, workRows, artifacts }: CaseState): boolean {
  const givenUp = artifacts.filter(({ state, problem }) => state === 'remote' && problem !== null)
  return (
    tasks.length > 0 &&
    workRows === givenUp.length &&
    tasks.every(({ status }) => status !== 'pending' && status !== 'running')
  )
}
