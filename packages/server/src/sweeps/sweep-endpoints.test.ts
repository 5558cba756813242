import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { makeTask } from '../../test/make-task.ts'
import { moveClock } from '../../test/move-clock.ts'
import { createSweepContext } from '../../test/sweep-context.ts'
import { createTestDatabase, type TestDatabase } from '../../test/test-database.ts'
import { connect, type Sql } from '../database/connect.ts'
import type { WebhookEndpoint } from '../work/deliver/endpoint.ts'
import { registerEndpoints } from '../work/deliver/register-endpoints.ts'
import { sweepEndpoints } from './sweep-endpoints.ts'

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE

let database: TestDatabase
let sql: Sql
beforeAll(async () => {
  database = await createTestDatabase()
  sql = connect(database.url)
})
afterEach(async () => {
  await sql`delete from holdfast.tasks`
  await sql`delete from holdfast.dead_letters`
  await sql`delete from holdfast.webhook_endpoints`
})
afterAll(async () => {
  await sql.end()
  await database.drop()
})

const endpoint = (name: string): WebhookEndpoint => ({ name, url: 'http://127.0.0.1:1/', secret: 'unused' })
const names = async () =>
  (await sql<{ id: string }[]>`select id from holdfast.webhook_endpoints order by id`).map(({ id }) => id)
/** Servers have been running without it for so long. */
const absentFor = (name: string, ms: number) =>
  sql`update holdfast.webhook_endpoints set seen_at = now() - interval '1 year', absent_for = ${ms}::float8 * interval '1 ms' where id = ${name}`

describe('sweepEndpoints', () => {
  it('forgets what servers have been running without for 30 days, with all that was to be told to it, and nothing else', async () => {
    await registerEndpoints(sql, [endpoint('gone'), endpoint('away'), endpoint('named')])
    const { id } = await makeTask(sql)
    await sql`
      insert into holdfast.dead_letters (task_id, user_id, kind, provider, lane, attempts, reason) values
        (${id}, 'ada', 'deliver', 'gone', 'free_default', 18, 'no'), (${id}, 'ada', 'deliver', 'away', 'free_default', 18, 'no')
    `
    await absentFor('gone', 30 * DAY)
    await absentFor('away', 30 * DAY - 1)
    const context = createSweepContext(sql)
    expect(await sweepEndpoints(context)).toBe(1)
    expect(await names()).toEqual(['away', 'named'])
    const told = await sql`select endpoint from holdfast.deliveries where task_id = ${id} order by endpoint`
    expect(told).toEqual([{ endpoint: 'away' }, { endpoint: 'named' }])
    const work = await sql`select provider from holdfast.work where kind = 'deliver' order by provider`
    expect(work).toEqual([{ provider: 'away' }, { provider: 'named' }])
    const letters = await sql`select provider, resolution from holdfast.dead_letters order by provider`
    expect(letters).toEqual([
      { provider: 'away', resolution: null },
      { provider: 'gone', resolution: 'discarded' },
    ])
    // It is said before it happens.
    expect(context.alerts.map(({ name, key }) => `${name} ${key}`).sort()).toEqual([
      'endpoint-not-configured away',
      'endpoint-not-configured gone',
    ])
    expect(context.alerts[0]?.message).toContain("select holdfast.forget_endpoint('")
  })

  it('counts the time in which servers run, minute by minute, and no other', async () => {
    await registerEndpoints(sql, [endpoint('app')])
    const context = createSweepContext(sql)
    await sweepEndpoints(context)
    for (let minute = 0; minute < 40; minute++) {
      await moveClock(sql, MINUTE)
      await sweepEndpoints(context)
    }
    const absent = async () =>
      (
        await sql<{ minutes: number }[]>`
          select round(extract(epoch from absent_for) / 60)::int as minutes from holdfast.webhook_endpoints
        `
      )[0]?.minutes
    // Counted from the third time that it was not named.
    expect(await absent()).toBe(10)
    await moveClock(sql, 365 * DAY)
    await sweepEndpoints(context)
    expect(await absent()).toBe(15)
    expect(context.alerts).toEqual([])

    await registerEndpoints(sql, [endpoint('app')])
    expect(await absent()).toBe(0)
    await sweepEndpoints(context)
    expect(await absent()).toBe(0)
  })

  it('leaves alone what this server has in its own settings, whatever the database says', async () => {
    await registerEndpoints(sql, [endpoint('app')])
    await absentFor('app', 60 * DAY)
    const context = createSweepContext(sql)
    expect(await sweepEndpoints({ ...context, webhooks: [endpoint('app')] })).toBe(0)
    expect(await names()).toEqual(['app'])
    expect(context.alerts).toEqual([])
  })

  it('spares one that is named at the same moment', async () => {
    await registerEndpoints(sql, [endpoint('app')])
    await absentFor('app', 60 * DAY)
    let swept: Promise<number> | undefined
    await sql.begin(async (tx) => {
      await tx`select holdfast.register_endpoint('app', '{task.submitted}')`
      swept = sweepEndpoints(createSweepContext(sql))
      await expect
        .poll(
          async () =>
            (
              await sql`select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`
            ).length,
          { timeout: 5_000, interval: 10 },
        )
        .toBe(1)
    })
    expect(await swept).toBe(0)
    expect(await names()).toEqual(['app'])
  })
})

describe('an endpoint that is forgotten while an event is noted for it', () => {
  it('waits for the event, and takes it along', async () => {
    await registerEndpoints(sql, [endpoint('app')])
    const { id } = await makeTask(sql)
    let forgotten: Promise<unknown> | undefined
    await sql.begin(async (tx) => {
      await tx`select holdfast.note_event(${id}, 'ada', 'task.failed', 2, 'free_default')`
      forgotten = sql`select holdfast.forget_endpoint('app')`.execute()
      await expect
        .poll(
          async () =>
            (
              await sql`select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`
            ).length,
          { timeout: 5_000, interval: 10 },
        )
        .toBe(1)
    })
    await forgotten
    expect(await sql`select from holdfast.deliveries`).toHaveLength(0)
    expect(await sql`select from holdfast.work where kind = 'deliver'`).toHaveLength(0)
  })

  it('does not fail the transaction of the event', async () => {
    await registerEndpoints(sql, [endpoint('app'), endpoint('other')])
    let made: Promise<unknown> | undefined
    await sql.begin(async (tx) => {
      await tx`select holdfast.forget_endpoint('app')`
      made = makeTask(sql)
      await expect
        .poll(
          async () =>
            (
              await sql`select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`
            ).length,
          { timeout: 5_000, interval: 10 },
        )
        .toBe(1)
    })
    await made
    expect(await sql`select endpoint from holdfast.deliveries`).toEqual([{ endpoint: 'other' }])
  })
})
