import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest'
import { makeTask } from '../../../test/make-task.ts'
import { createScriptedProvider, type Script } from '../../../test/scripted-provider.ts'
import { type StartedEngine, startEngine } from '../../../test/start-engine.ts'
import { createTestDatabase, type TestDatabase } from '../../../test/test-database.ts'
import { untracedLines } from '../../../test/untraced-lines.ts'
import type { Sql } from '../../database/connect.ts'
import { findTask } from '../../tasks/find-task.ts'

let database: TestDatabase
let sql: Sql
const started: StartedEngine[] = []
beforeAll(async () => {
  database = await createTestDatabase()
  sql = database.sql
})
afterEach(async () => {
  await Promise.all(started.splice(0).map(({ engine }) => engine.stop()))
})
afterAll(() => database.drop())

async function submitAndLose(script: Script) {
  const provider = createScriptedProvider({ create: () => ({ kind: 'unknown', reason: 'cut' }), ...script })
  const engine = startEngine(sql, provider)
  started.push(engine)
  const task = await makeTask(sql, { provider: provider.name })
  const untilStatus = (status: string) =>
    vi.waitFor(async () => expect((await findTask(sql, 'ada', task.id))?.status).toBe(status), {
      timeout: 10_000,
    })
  return { provider, task, untilStatus, logLines: engine.logLines }
}

it('a create whose reply was lost is looked up where the provider can list, and goes on', async () => {
  const { provider, untilStatus } = await submitAndLose({
    find: ({ taskId }) => ({ kind: 'found', externalId: `found-${taskId}` }),
  })
  await untilStatus('running')
  expect(provider.creates).toHaveLength(1)
})

it('it may turn up late', async () => {
  let looks = 0
  const { provider, task, untilStatus } = await submitAndLose({
    find: ({ taskId }) => {
      looks += 1
      return looks < 3 ? { kind: 'absent' } : { kind: 'found', externalId: `found-${taskId}` }
    },
  })
  await vi.waitFor(
    async () => {
      await sql`update holdfast.work set due_at = now() where task_id = ${task.id} and kind = 'send'`
      expect(looks).toBe(3)
    },
    { timeout: 10_000 },
  )
  await untilStatus('running')
  expect(provider.creates).toHaveLength(1)
})

it.each([{ kind: 'absent' }, { kind: 'inconclusive', reason: 'away' }] as const)(
  'if it does not turn up ($kind), it ends as unknown after a while and is not sent again',
  async (outcome) => {
    const { provider, task, untilStatus } = await submitAndLose({ find: () => outcome })
    await vi.waitFor(async () => {
      const [row] =
        await sql`select from holdfast.provider_jobs where task_id = ${task.id} and sending_at is not null`
      expect(row).toBeDefined()
      expect((await findTask(sql, 'ada', task.id))?.status).toBe('pending')
    })
    await sql`update holdfast.provider_jobs set sending_at = sending_at - interval '61 s' where task_id = ${task.id}`
    await vi.waitFor(
      async () => {
        await sql`update holdfast.work set due_at = now() where task_id = ${task.id}`
        expect((await findTask(sql, 'ada', task.id))?.failure?.code).toBe('SUBMIT_UNKNOWN')
      },
      { timeout: 10_000, interval: 100 },
    )
    await untilStatus('failed')
    expect(provider.creates).toHaveLength(1)
  },
)

it.each([
  ['cut off', () => ({ kind: 'unknown', reason: 'cut' }) as const, []],
  [
    'broken',
    () => {
      throw new Error('a bug')
    },
    [{ kind: 'send', reason: 'the adapter threw' }],
  ],
])('it is remembered until the end why the reply was lost: %s', async (_, create, letters) => {
  let looks = 0
  const { task, untilStatus } = await submitAndLose({
    create,
    find: () => {
      looks += 1
      return { kind: 'absent' }
    },
  })
  const lookAgain = (until: () => Promise<void> | void) =>
    vi.waitFor(
      async () => {
        await sql`update holdfast.work set due_at = now() where task_id = ${task.id} and kind = 'send'`
        await until()
      },
      { timeout: 10_000, interval: 50 },
    )
  await vi.waitFor(() => expect(looks).toBe(1), { timeout: 10_000 })
  await lookAgain(() => expect(looks).toBeGreaterThan(1))
  expect((await findTask(sql, 'ada', task.id))?.status).toBe('pending')
  await sql`update holdfast.provider_jobs set sending_at = sending_at - interval '61 s' where task_id = ${task.id}`
  await lookAgain(async () => expect((await findTask(sql, 'ada', task.id))?.status).toBe('failed'))
  await untilStatus('failed')
  expect(
    await sql`select kind, reason from holdfast.dead_letters where task_id = ${task.id} and resolved_at is null`,
  ).toEqual(letters)
})

it('an adapter that throws, while it sends and while it looks, is logged with the trace of its task', async () => {
  const bug = () => {
    throw new Error('a bug')
  }
  const { task, logLines } = await submitAndLose({ create: bug, find: bug })
  const thrown = () => logLines.filter((line) => line.includes('the adapter threw'))
  await vi.waitFor(
    async () => {
      await sql`update holdfast.work set due_at = now() where task_id = ${task.id} and kind = 'send'`
      expect(thrown().length).toBeGreaterThanOrEqual(3)
    },
    { timeout: 10_000 },
  )
  expect(thrown().map((line) => JSON.parse(line))).toEqual(
    thrown().map(() => expect.objectContaining({ taskId: task.id, traceId: 'trace' })),
  )
  expect(untracedLines(logLines)).toEqual([])
})
