import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Sql, Tx } from '../../packages/server/src/database/connect.ts'
import { rolledBack } from '../../packages/server/test/rolled-back.ts'
import { createTestDatabase, type TestDatabase } from '../../packages/server/test/test-database.ts'
import { TASK_STATUSES, type TaskStatus, TRANSITIONS } from '../../packages/shared/src/index.ts'

let database: TestDatabase
let sql: Sql

beforeAll(async () => {
  database = await createTestDatabase()
  sql = database.sql
})
afterAll(() => database.drop())

/** What the other columns must be for a row in each status, so that only the transition itself can be refused. */
const COLUMNS: Record<TaskStatus, string> = {
  pending: `status = 'pending', started_at = null, finished_at = null, failure_code = null, failure_message = null, failure_retryable = null`,
  running: `status = 'running', started_at = coalesce(started_at, now()), finished_at = null, failure_code = null, failure_message = null, failure_retryable = null`,
  completed: `status = 'completed', started_at = coalesce(started_at, now()), finished_at = coalesce(finished_at, now()), failure_code = null, failure_message = null, failure_retryable = null`,
  failed: `status = 'failed', finished_at = coalesce(finished_at, now()), failure_code = 'PROVIDER_FAILED', failure_message = 'no', failure_retryable = true`,
  cancelled: `status = 'cancelled', finished_at = coalesce(finished_at, now()), failure_code = null, failure_message = null, failure_retryable = null`,
}
const PATH: Record<TaskStatus, TaskStatus[]> = {
  pending: [],
  running: ['running'],
  completed: ['running', 'completed'],
  failed: ['running', 'failed'],
  cancelled: ['running', 'cancelled'],
}

async function insertTask(tx: Tx): Promise<string> {
  const [row] = await tx<{ id: string }[]>`
    insert into holdfast.tasks (user_id, type, provider) values ('ada', 'image', 'kie') returning id
  `
  return row?.id ?? ''
}

async function taskThatIs(tx: Tx, status: TaskStatus): Promise<string> {
  const id = await insertTask(tx)
  for (const step of PATH[status]) await move(tx, id, step)
  return id
}

function move(tx: Tx, id: string, to: TaskStatus, more = '') {
  return tx.unsafe(`update holdfast.tasks set ${COLUMNS[to]}${more} where id = $1`, [id])
}

async function stateOf(tx: Tx, id: string) {
  const [row] = await tx<
    { status: string; version: number; attempts: number }[]
  >`select status, version, attempts from holdfast.tasks where id = ${id}`
  return row
}

const pairs = TASK_STATUSES.flatMap((from) =>
  TASK_STATUSES.map((to) => ({ from, to, rule: TRANSITIONS[from][to] })),
)
const refusal = (constraint: string) => ({ code: '23514', constraint_name: constraint })

describe('PostgreSQL itself guards every pair of statuses (F9)', () => {
  it.each(pairs.filter(({ rule }) => rule === 'allowed' || rule === 'stay'))(
    '$from → $to: $rule',
    ({ from, to }) =>
      rolledBack(sql, async (tx) => {
        const id = await taskThatIs(tx, from)
        const before = await stateOf(tx, id)
        await move(tx, id, to)
        expect(await stateOf(tx, id)).toEqual({
          status: to,
          version: (before?.version ?? 0) + 1,
          attempts: 0,
        })
      }),
  )

  it.each(pairs.filter(({ rule }) => rule === 'refused'))('$from → $to is refused', ({ from, to }) =>
    rolledBack(sql, async (tx) => {
      const id = await taskThatIs(tx, from)
      await expect(move(tx, id, to)).rejects.toMatchObject(refusal('task_status_transition_is_allowed'))
    }),
  )

  it('running → pending is refused unless the attempt count rises', async () => {
    await rolledBack(sql, async (tx) => {
      const id = await taskThatIs(tx, 'running')
      await expect(move(tx, id, 'pending')).rejects.toMatchObject(
        refusal('task_status_transition_is_allowed'),
      )
    })
    await rolledBack(sql, async (tx) => {
      const id = await taskThatIs(tx, 'running')
      await move(tx, id, 'pending', ', attempts = attempts + 1')
      expect(await stateOf(tx, id)).toMatchObject({ status: 'pending', attempts: 1 })
    })
  })

  it('a status that there is not is refused', () =>
    rolledBack(sql, async (tx) => {
      const id = await taskThatIs(tx, 'pending')
      await expect(tx`update holdfast.tasks set status = 'retrying' where id = ${id}`).rejects.toMatchObject({
        code: '23514',
      })
    }))

  it.each(TASK_STATUSES.filter((status) => status !== 'pending'))('a task does not begin as %s', (status) =>
    rolledBack(sql, async (tx) => {
      await expect(
        tx`
          insert into holdfast.tasks (user_id, type, provider, status, started_at, finished_at, failure_code, failure_message, failure_retryable)
          values (
            'ada', 'image', 'kie', ${status}, now(), ${status === 'running' ? null : tx`now()`},
            ${status === 'failed' ? 'PROVIDER_FAILED' : null}, ${status === 'failed' ? 'no' : null}, ${status === 'failed' ? true : null}
          )
        `,
      ).rejects.toMatchObject(refusal('task_starts_pending'))
    }),
  )
})

describe('the version of a task', () => {
  it('rises by exactly one with every write, whatever the write says', () =>
    rolledBack(sql, async (tx) => {
      const [inserted] = await tx<{ id: string; version: number }[]>`
        insert into holdfast.tasks (user_id, type, provider, version) values ('ada', 'image', 'kie', 41) returning id, version
      `
      expect(inserted?.version).toBe(1)
      const versions: (number | undefined)[] = []
      for (const set of ['version = 99', 'version = 1', 'version = version', 'poll_count = 1', 'id = id']) {
        const [row] = await tx.unsafe<{ version: number }[]>(
          `update holdfast.tasks set ${set} where id = $1 returning version`,
          [inserted?.id ?? ''],
        )
        versions.push(row?.version)
      }
      expect(versions).toEqual([2, 3, 4, 5, 6])
    }))

  it('comes with the transaction that wrote it, which cannot be set by hand', () =>
    rolledBack(sql, async (tx) => {
      const [inserted] = await tx<{ id: string; own: boolean }[]>`
        insert into holdfast.tasks (user_id, type, provider, changed_xid) values ('ada', 'image', 'kie', '5')
        returning id, changed_xid = pg_current_xact_id() as own
      `
      expect(inserted?.own).toBe(true)
      const [updated] = await tx<{ own: boolean }[]>`
        update holdfast.tasks set changed_xid = '5' where id = ${inserted?.id ?? ''} returning changed_xid = pg_current_xact_id() as own
      `
      expect(updated?.own).toBe(true)
    }))
})
