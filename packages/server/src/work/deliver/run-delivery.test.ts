import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { makeTask } from '../../../test/make-task.ts'
import { createMemoryLog } from '../../../test/memory-log.ts'
import { receiveWebhooks } from '../../../test/receive-webhooks.ts'
import { untold } from '../../../test/record-notices.ts'
import { createTestDatabase, type TestDatabase } from '../../../test/test-database.ts'
import { connect, type Sql } from '../../database/connect.ts'
import { createMetrics } from '../../metrics/metrics.ts'
import { withoutUrls } from '../../tasks/present-tasks.ts'
import { type ClaimedDelivery, claimDeliveries } from './claim-deliveries.ts'
import { MOST_DELIVERY_ATTEMPTS } from './delivery-pace.ts'
import { runDelivery } from './run-delivery.ts'

const SECRET = `whsec_${Buffer.from('a secret of more than 24 bytes, as it should be').toString('base64')}`
const HOUR = 3_600_000

let database: TestDatabase
let sql: Sql
let receiver: Awaited<ReturnType<typeof receiveWebhooks>>
let status = 204
let whileItIsTold: () => Promise<unknown> = async () => {}
beforeAll(async () => {
  database = await createTestDatabase()
  sql = connect(database.url)
  await sql`select holdfast.register_endpoint('app', '{task.submitted}')`
  receiver = await receiveWebhooks(
    () => status,
    () => whileItIsTold(),
  )
})
beforeEach(() => {
  status = 204
})
afterEach(async () => {
  whileItIsTold = async () => {}
  receiver.calls.length = 0
  await sql`delete from holdfast.tasks`
})
afterAll(async () => {
  await receiver.close()
  await sql.end()
  await database.drop()
})

async function claimed(): Promise<ClaimedDelivery> {
  await makeTask(sql)
  const [work] = await claimDeliveries(sql, { endpoints: ['app'], limit: 1, leaseMs: 60_000 })
  if (!work) throw new Error('nothing is to be told')
  return work
}
function run(work: ClaimedDelivery) {
  const metrics = createMetrics()
  const delivered = runDelivery(
    {
      ...untold(sql),
      endpoints: new Map([['app', { name: 'app', url: receiver.url, secret: SECRET }]]),
      present: withoutUrls,
      log: createMemoryLog().log,
      metrics,
      random: () => 0,
      stopping: new AbortController().signal,
    },
    work,
  )
  return { delivered, metrics }
}
const workOf = async ({ taskId }: ClaimedDelivery) => {
  const [row] = await sql<{ epoch: number; attempts: number; dueMs: number }[]>`
    select epoch, attempts, (extract(epoch from due_at - now()) * 1000)::float8 as "dueMs"
    from holdfast.work where task_id = ${taskId} and kind = 'deliver'
  `
  return row
}
const note = (on: Pick<Sql, 'unsafe'>, { taskId }: ClaimedDelivery) =>
  on.unsafe(`select holdfast.note_event('${taskId}', 'ada', 'task.submitted', 2, 'free_default')`)

describe('a claim that was taken over while the endpoint was being told', () => {
  it.each([
    ['it takes it', 204, 0],
    ['it does not take it', 503, 0],
    ['it does not take it the last time', 503, MOST_DELIVERY_ATTEMPTS - 1],
  ])('changes nothing of what the other process has: %s', async (_, answer, attempts) => {
    const work = { ...(await claimed()), attempts }
    status = answer
    whileItIsTold = () => sql`
      update holdfast.work set epoch = epoch + 1, attempts = ${attempts}, due_at = now() + interval '1 h'
      where task_id = ${work.taskId} and kind = 'deliver'
    `
    const { delivered, metrics } = run(work)
    await delivered
    const left = await workOf(work)
    expect(left).toMatchObject({ epoch: work.epoch + 1, attempts })
    expect(left?.dueMs).toBeGreaterThan(HOUR / 2)
    expect(await sql`select from holdfast.dead_letters where task_id = ${work.taskId}`).toHaveLength(0)
    expect(
      await sql`select from holdfast.deliveries where task_id = ${work.taskId} and failed_at is not null`,
    ).toHaveLength(0)
    if (answer === 503) {
      expect(await metrics.registry.metrics()).toContain('holdfast_refused_writes_total{provider="app"} 1')
    }
  })
})

describe('what happens while the endpoint is being told', () => {
  it('is told next, though the claim is still held', async () => {
    const work = await claimed()
    whileItIsTold = () => note(sql, work)
    await run(work).delivered
    expect((await workOf(work))?.dueMs).toBeLessThanOrEqual(0)
    whileItIsTold = async () => {}
    const [again] = await claimDeliveries(sql, { endpoints: ['app'], limit: 1, leaseMs: 60_000 })
    if (again) await run(again).delivered
    expect(receiver.calls.map(({ body }) => JSON.parse(body).data.version)).toEqual([1, 2])
    expect(await workOf(work)).toBeUndefined()
  })

  it('is not lost where it is committed just as the step ends', async () => {
    const work = await claimed()
    const noting = await sql.reserve()
    try {
      whileItIsTold = async () => {
        await noting`begin`
        await note(noting, work)
      }
      const { delivered } = run(work)
      await vi.waitFor(
        async () =>
          expect(
            await sql`
              select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
            `,
          ).toHaveLength(1),
        { timeout: 10_000, interval: 10 },
      )
      await noting`commit`
      await delivered
    } finally {
      noting.release()
    }
    expect((await workOf(work))?.dueMs).toBeLessThanOrEqual(0)
    expect(await sql`select version from holdfast.deliveries where task_id = ${work.taskId}`).toEqual([
      { version: 2 },
    ])
  })
})
