import type { Task } from '@holdfast/shared'
import pino from 'pino'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { makeRunningTask, makeTask } from '../../test/make-task.ts'
import { notifyOver } from '../../test/record-notices.ts'
import { createScriptedProvider } from '../../test/scripted-provider.ts'
import { scriptedTypes } from '../../test/scripted-types.ts'
import { createTestSettle } from '../../test/settle-task.ts'
import { createTestDatabase, type TestDatabase } from '../../test/test-database.ts'
import { createMemoryBus } from '../bus/memory-bus.ts'
import type { Sql } from '../database/connect.ts'
import { createNoLock } from '../locks/no-lock.ts'
import { createMetrics } from '../metrics/metrics.ts'
import type { CreateOutcome, QueryOutcome } from '../providers/provider.ts'
import { cancelTask } from '../tasks/cancel-task.ts'
import { findTask } from '../tasks/find-task.ts'
import { createEngine, defaultEngineOptions, type Engine } from './workers.ts'

/** What a task shows of its starts: how many there were, why the last one did not work, when the next one is made. */

let database: TestDatabase
let sql: Sql
const engines: Engine[] = []
beforeAll(async () => {
  database = await createTestDatabase()
  sql = database.sql
})
afterEach(async () => {
  await Promise.all(engines.splice(0).map((engine) => engine.stop()))
})
afterAll(() => database.drop())

const KEY = 'sk-live-this-is-the-key'
const refusal = (message: string): CreateOutcome => ({
  kind: 'refused',
  code: 'PROVIDER_FAILED',
  message,
  retryable: true,
})

function start(
  answers: (CreateOutcome | ((callbackUrl: string) => CreateOutcome))[],
  { query = { kind: 'running', progress: null } }: { query?: QueryOutcome } = {},
) {
  const provider = createScriptedProvider({
    create({ taskId, callbackUrl = '' }, nth) {
      const answer = answers[nth - 1] ?? { kind: 'accepted', externalId: `external-${taskId}` }
      return typeof answer === 'function' ? answer(callbackUrl) : answer
    },
    query: () => query,
  })
  const bus = createMemoryBus()
  const heard: string[] = []
  bus.subscribe('ada', () => heard.push('ada'))
  const notify = notifyOver(bus)
  const engine = createEngine(
    {
      sql,
      notify,
      settle: createTestSettle(sql, undefined, { notify }),
      lock: createNoLock(),
      metrics: createMetrics(),
      bus,
      types: scriptedTypes(provider.name),
      providers: new Map([[provider.name, provider]]),
      log: pino({ level: 'silent' }),
      random: () => 1,
      publicUrl: 'https://api.example.com',
    },
    { ...defaultEngineOptions, idleMs: 5, leaseMarginMs: 500 },
  )
  engines.push(engine)
  engine.start()
  return { provider, heard }
}

const get = (task: Task) => findTask(sql, 'ada', task.id)
const until = (check: () => Promise<void> | void) => vi.waitFor(check, { timeout: 10_000, interval: 5 })
/** Waits for a task that shows so many starts, and returns it. */
async function untilAttempts(task: Task, attempts: number): Promise<Task> {
  await until(async () => expect((await get(task))?.attempts).toBe(attempts))
  const shown = await get(task)
  if (!shown) throw new Error('the task is gone')
  return shown
}
const tryNow = (task: Task) =>
  sql`update holdfast.work set due_at = now() where task_id = ${task.id} and kind = 'send'`
const dueAt = async (task: Task) =>
  (await sql<{ due: Date }[]>`select due_at as due from holdfast.work where task_id = ${task.id}`)[0]?.due

describe('the starts of a task', () => {
  it('there are none before the first', async () => {
    expect(await makeTask(sql, { provider: 'nobody' })).toMatchObject({
      attempts: 0,
      lastError: null,
      nextAttemptAt: null,
    })
  })

  it('a refusal is counted and told in its own words, with the time of the next try; acceptance ends the worry', async () => {
    const { provider, heard } = start([refusal('They are full. Try again in a moment.')])
    const task = await makeTask(sql, { provider: provider.name })
    const refused = await untilAttempts(task, 1)
    expect(refused).toMatchObject({
      status: 'pending',
      failure: null,
      lastError: 'They are full. Try again in a moment.',
      nextAttemptAt: (await dueAt(task))?.toISOString(),
    })
    // One write since it was made, as version 1.
    expect(refused.version).toBe(2)
    // Clients that watch are told.
    await until(() => expect(heard).toHaveLength(1))

    await tryNow(task)
    expect(await untilAttempts(task, 2)).toMatchObject({
      status: 'running',
      lastError: null,
      nextAttemptAt: null,
      version: task.version + 2,
    })
  })

  it.each<[string, CreateOutcome, RegExp]>([
    [
      'busy',
      { kind: 'not-accepted', reason: `429 at 10.0.0.7: key ${KEY}`, retryAfterMs: 60_000 },
      /^The generation service is busy/,
    ],
    [
      'out of reach',
      { kind: 'not-accepted', reason: `connect ECONNREFUSED 10.0.0.7:443 ${KEY}`, retryAfterMs: null },
      /^The generation service cannot be reached/,
    ],
  ])(
    'a service that is %s is told in words of ours, without what only the operator may see',
    async (_, outcome, words) => {
      const { provider } = start([outcome])
      const task = await makeTask(sql, { provider: provider.name })
      const shown = await untilAttempts(task, 1)
      expect(shown.lastError).toMatch(words)
      expect(JSON.stringify(shown)).not.toMatch(/10\.0\.0\.7|sk-live|ECONN/)
      expect(shown.nextAttemptAt).toBe((await dueAt(task))?.toISOString())
      // The operator still has them.
      const [job] = await sql`select last_error from holdfast.provider_jobs where task_id = ${task.id}`
      expect(job?.last_error).toContain(KEY)
    },
  )

  it('the last one is counted with the failure that it brings', async () => {
    const { provider } = start([refusal('Full.'), refusal('Still full.')])
    const task = await makeTask(sql, { provider: provider.name, maxAttempts: 2 })
    await untilAttempts(task, 1)
    await tryNow(task)
    expect(await untilAttempts(task, 2)).toMatchObject({
      status: 'failed',
      failure: { message: 'Still full.' },
      nextAttemptAt: null,
    })
  })

  it.each<[string, CreateOutcome, string]>([
    ['refused for good', { ...refusal('No.'), retryable: false } as CreateOutcome, 'PROVIDER_FAILED'],
    ['whose reply was lost', { kind: 'unknown', reason: 'cut off' }, 'SUBMIT_UNKNOWN'],
  ])('one that was %s is counted', async (_, outcome, code) => {
    const { provider } = start([outcome])
    const task = await makeTask(sql, { provider: provider.name })
    expect(await untilAttempts(task, 1)).toMatchObject({ status: 'failed', failure: { code } })
  })

  it('a vendor that repeats the address that it may call back at gives its secret away to nobody', async () => {
    const repeats = (callbackUrl: string) => refusal(`callback ${callbackUrl} cannot be reached`)
    const { provider } = start([repeats])
    const task = await makeTask(sql, { provider: provider.name })
    const { lastError } = await untilAttempts(task, 1)
    const [job] = await sql<{ secret: string; reason: string }[]>`
      select callback_secret as secret, last_error as reason from holdfast.provider_jobs where task_id = ${task.id}
    `
    expect(lastError).toContain('[secret]')
    for (const text of [lastError, job?.reason]) expect(text).not.toContain(job?.secret)
  })

  it('a cancelled task is not tried again, and says so', async () => {
    const { provider } = start([refusal('Full.')])
    const task = await makeTask(sql, { provider: provider.name })
    await untilAttempts(task, 1)
    await cancelTask(sql, createTestSettle(sql), 'ada', task.id)
    expect(await get(task)).toMatchObject({
      status: 'cancelled',
      attempts: 1,
      lastError: 'Full.',
      nextAttemptAt: null,
    })
  })

  it('polls that find nothing new write nothing of it', async () => {
    const { provider } = start([])
    const task = await makeRunningTask(sql, { provider: provider.name })
    const before = await get(task)
    for (let nth = 1; nth <= 3; nth++) {
      await sql`update holdfast.work set due_at = now(), epoch = epoch + 1 where task_id = ${task.id}`
      await until(() => expect(provider.queries.length).toBeGreaterThanOrEqual(nth))
    }
    expect(before).toMatchObject({ attempts: 1 })
    expect(await get(task)).toEqual(before)
  })
})
