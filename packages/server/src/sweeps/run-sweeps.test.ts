import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { makeTask } from '../../test/make-task.ts'
import { untold } from '../../test/record-notices.ts'
import { createSweepContext } from '../../test/sweep-context.ts'
import { createTestDatabase, type TestDatabase } from '../../test/test-database.ts'
import { connect, type Sql } from '../database/connect.ts'
import { createMetrics } from '../metrics/metrics.ts'
import { createTask } from '../tasks/create-task.ts'
import { runSweeps } from './run-sweeps.ts'
import { sweepUsedUp } from './sweep-used-up.ts'

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

describe('sweepUsedUp', () => {
  it('removes webhooks heard long ago', async () => {
    const context = createSweepContext(sql)
    await sql`
      insert into holdfast.webhook_deliveries (provider, delivery_id, received_at) values
        ('p', 'old', now() - interval '7 days'), ('p', 'new', now() - interval '6 days')
    `
    expect(await sweepUsedUp(context)).toBe(1)
    expect(await sql`select delivery_id from holdfast.webhook_deliveries`).toEqual([{ delivery_id: 'new' }])
  })

  it('removes idempotency keys past their time and shares of replicas long gone, and nothing else', async () => {
    const context = createSweepContext(sql)
    for (const key of ['old', 'new']) {
      await createTask(untold(sql), context.types, {
        userId: 'ada',
        body: { type: 'image', params: { prompt: 'a fox' } },
        idempotencyKey: key,
        traceId: 'trace',
      })
    }
    await sql`update holdfast.idempotency_keys set expires_at = now() where key = 'old'`
    await sql`
      insert into holdfast.budgets (provider, operation, per_second, burst, max_in_flight, tokens) values ('p', 'query', 1, 1, 1, 1)
    `
    await sql`
      insert into holdfast.budget_shares (provider, operation, replica, in_flight, expires_at) values
        ('p', 'query', 'gone', 1, now() - interval '2 h'), ('p', 'query', 'late', 1, now() - interval '1 min'),
        ('p', 'query', 'here', 1, now() + interval '1 min')
    `
    expect(await sweepUsedUp(context)).toBe(2)
    expect(await sql`select key from holdfast.idempotency_keys`).toEqual([{ key: 'new' }])
    expect(await sql`select replica from holdfast.budget_shares order by replica`).toEqual([
      { replica: 'here' },
      { replica: 'late' },
    ])
    // The task that the key stood for is still there.
    expect(await sql`select from holdfast.tasks`).toHaveLength(2)
  })
})

describe('runSweeps', () => {
  it('goes on when one of them fails, counts what they did, and stops when told to', async () => {
    const task = await makeTask(sql)
    const metrics = createMetrics()
    const stop = new AbortController()
    const context = createSweepContext(sql, { waitLimitMs: 0 })
    let failures = 0
    const faulty = new Proxy(sql, {
      apply(target, self, args: [TemplateStringsArray]) {
        if (args[0].join().includes('deadline_at')) {
          failures += 1
          throw new Error('no')
        }
        return Reflect.apply(target, self, args)
      },
    })
    const running = runSweeps({ ...context, sql: faulty, metrics, everyMs: 5, until: stop.signal })
    await vi.waitFor(() => expect(failures).toBeGreaterThanOrEqual(2), { timeout: 10_000 })
    stop.abort()
    await running
    expect(await sql`select status from holdfast.tasks where id = ${task.id}`).toEqual([{ status: 'failed' }])
    expect(context.logLines.filter((line) => line.includes('could not be finished')).length).toBe(failures)
    expect(await metrics.registry.metrics()).toMatch(/holdfast_swept_total\{sweep="waiting"\} [1-9]/)
    const stopped = failures
    await runSweeps({ ...context, sql: faulty, metrics, everyMs: 5, until: stop.signal })
    expect(failures).toBe(stopped)
  })
})
