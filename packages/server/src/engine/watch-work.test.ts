import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { createFakeLock } from '../../test/fake-lock.ts'
import { makeRunningTask, makeTask } from '../../test/make-task.ts'
import { createTestDatabase, type TestDatabase } from '../../test/test-database.ts'
import { startTestHoldfast } from '../../test/test-holdfast.ts'
import { connect, type Sql } from '../database/connect.ts'
import { readWaitingWork } from './read-waiting-work.ts'

let database: TestDatabase
let sql: Sql
beforeAll(async () => {
  database = await createTestDatabase()
  sql = connect(database.url)
})
afterAll(async () => {
  await sql.end()
  await database.drop()
})

/** Work of `kie` that has been due for so many seconds. */
async function due(kind: 'send' | 'poll', seconds: number): Promise<void> {
  const { id } = kind === 'send' ? await makeTask(sql) : await makeRunningTask(sql)
  await sql`update holdfast.work set provider = 'kie', due_at = now() - ${seconds} * interval '1 s' where task_id = ${id}`
}
interface BudgetOfTest {
  operation?: string
  perSecond?: number
  tokens?: number
  claimed?: number
  pausedUntil?: number | null
}
/** Times in seconds before now. */
const budget = ({
  operation = 'query',
  perSecond = 10,
  tokens = 1,
  claimed = 3_600,
  pausedUntil = null,
}: BudgetOfTest = {}) => sql`
  insert into holdfast.budgets (provider, operation, per_second, burst, max_in_flight, tokens, refilled_at, paused_until)
  values ('kie', ${operation}, ${perSecond}, 1, 8, ${tokens}, now() - ${claimed} * interval '1 s', now() - ${pausedUntil}::float8 * interval '1 s')
`
const share = (expired: number) => sql`
  insert into holdfast.budget_shares (provider, operation, replica, in_flight, expires_at)
  values ('kie', 'query', 'one', 1, now() - ${expired} * interval '1 s')
`

describe('readWaitingWork', () => {
  beforeEach(async () => {
    await sql`delete from holdfast.tasks`
    await sql`delete from holdfast.budgets`
  })

  it('counts what is due by provider and kind, over all lanes, and nothing else', async () => {
    await due('send', 5)
    await due('send', 10)
    await due('poll', -5)
    await due('poll', 3)
    await sql`update holdfast.work set lane = 'vip_short' where due_at < now() - interval '8 s'`
    await sql`select holdfast.register_endpoint('app', '{task.submitted}')`
    await makeTask(sql, { provider: 'other' })
    const waiting = await readWaitingWork(sql)
    expect(waiting.map(({ provider, kind, count }) => ({ provider, kind, count }))).toEqual([
      { provider: 'app', kind: 'deliver', count: 1 },
      { provider: 'kie', kind: 'poll', count: 1 },
      { provider: 'kie', kind: 'send', count: 2 },
      { provider: 'other', kind: 'send', count: 1 },
    ])
    expect(waiting[2]?.oldestMs).toBeGreaterThanOrEqual(10_000)
    expect(waiting[2]?.oldestMs).toBeLessThan(30_000)
    await sql`select holdfast.forget_endpoint('app')`
  })

  it('finds nothing where nothing waits', async () => {
    expect(await readWaitingWork(sql)).toEqual([])
  })

  it.each<[string, boolean, number, () => Promise<unknown>]>([
    ['nobody ever claimed anything', true, 61, async () => {}],
    ['it came due a moment ago', false, 50, () => budget()],
    ['nobody has claimed for long', true, 61, () => budget()],
    ['somebody claimed a moment ago', false, 3_600, () => budget({ claimed: 50 })],
    [
      'somebody claimed for the other operation: a probe, say',
      false,
      3_600,
      () => Promise.all([budget(), budget({ operation: 'create', claimed: 50 })]),
    ],
    ['the provider said to wait', false, 3_600, () => budget({ pausedUntil: -5 })],
    ['the pause has just ended', false, 3_600, () => budget({ pausedUntil: 50 })],
    ['the pause ended long ago', true, 3_600, () => budget({ pausedUntil: 61 })],
    [
      'the budget has nothing to give',
      false,
      3_600,
      () => budget({ perSecond: 0.01, tokens: 0, claimed: 120 }),
    ],
    [
      'the budget has had something to give',
      true,
      3_600,
      () => budget({ perSecond: 0.01, tokens: 0, claimed: 170 }),
    ],
    ['calls are under way', false, 3_600, () => budget().then(() => share(-5))],
    ['calls of a replica that is gone', true, 3_600, () => budget().then(() => share(5))],
  ])('%s: left is %s', async (_, left, seconds, prepare) => {
    await due('poll', seconds)
    await prepare()
    expect(await readWaitingWork(sql)).toMatchObject([{ provider: 'kie', kind: 'poll', isLeft: left }])
  })
})

describe('a replica that cannot get the lock', () => {
  const closing: (() => Promise<unknown>)[] = []
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close()
  })

  it('alerts once that nobody works on a provider, shows how much waits, and both end with the work', async () => {
    const lock = createFakeLock()
    lock.lose()
    const server = await startTestHoldfast({
      engineRuns: true,
      lock,
      metricsToken: 'token',
      engine: { watchEveryMs: 20 },
    })
    closing.push(server.stop)
    const { name } = server.provider
    const { id } = await makeTask(server.sql, { provider: name })
    const alerts = () => server.logLines.filter((line) => line.includes('"nobody-works"'))
    const metric = async (metricName: string) => {
      const answer = await server.holdfast.app.request('/metrics', {
        headers: { authorization: 'Bearer token' },
      })
      const line = (await answer.text())
        .split('\n')
        .find((text) => text.startsWith(`${metricName}{provider="${name}",kind="send"} `))
      return line && Number(line.split(' ').at(-1))
    }
    await vi.waitFor(async () => expect(await metric('holdfast_work_waiting')).toBe(1), { timeout: 10_000 })
    expect(alerts()).toEqual([])

    await server.sql`update holdfast.work set due_at = now() - interval '2 min' where task_id = ${id}`
    await vi.waitFor(() => expect(alerts()).toHaveLength(1), { timeout: 10_000 })
    expect(alerts()[0]).toContain(`Nobody works on \\"${name}\\"`)
    await vi.waitFor(async () => expect(await metric('holdfast_oldest_due_seconds')).toBeGreaterThan(119))

    lock.giveBack()
    await vi.waitFor(async () => expect(await metric('holdfast_work_waiting')).toBe(0), { timeout: 10_000 })
    expect(await metric('holdfast_oldest_due_seconds')).toBe(0)
    expect(alerts()).toHaveLength(1)
  })
})
