import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { createMemoryLog } from '../../../test/memory-log.ts'
import { createTestDatabase, type TestDatabase } from '../../../test/test-database.ts'
import type { AlertNotice } from '../../alerts/alert.ts'
import { connect, type Sql } from '../../database/connect.ts'
import type { WebhookEndpoint } from './endpoint.ts'
import { keepRegistered } from './keep-registered.ts'
import { registerEndpoints } from './register-endpoints.ts'

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

const endpoint = (name: string): WebhookEndpoint => ({ name, url: 'http://127.0.0.1:1/', secret: 'unused' })

describe('registerEndpoints', () => {
  it('gives each endpoint a part of its own, once, also when replicas start together', async () => {
    const endpoints = Array.from({ length: 8 }, (_, index) => endpoint(`app-${index}`))
    await Promise.all(Array.from({ length: 6 }, () => registerEndpoints(sql, endpoints)))
    const rows = await sql<{ id: string; part: number }[]>`select id, part from holdfast.webhook_endpoints`
    expect(rows.map(({ part }) => part).sort()).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
    await registerEndpoints(sql, endpoints.toReversed())
    expect(
      await sql`select id, part from holdfast.webhook_endpoints where (id, part) in ${sql(
        rows.map(({ id, part }) => sql([id, part])),
      )}`,
    ).toHaveLength(8)
  })

  it('gives a part that is free again to the next', async () => {
    await sql`select holdfast.forget_endpoint(id) from holdfast.webhook_endpoints where part = 3`
    await registerEndpoints(sql, [endpoint('new')])
    expect(await sql`select part from holdfast.webhook_endpoints where id = 'new'`).toEqual([{ part: 3 }])
  })
})

describe('keepRegistered', () => {
  it('alerts when the database refuses, and goes on until it does not', async () => {
    const alerts: AlertNotice[] = []
    const stopping = new AbortController()
    await sql`alter table holdfast.webhook_endpoints add constraint refused check (id <> 'refused')`
    const running = keepRegistered({
      sql,
      endpoints: [endpoint('refused')],
      log: createMemoryLog().log,
      alert: (notice) => void alerts.push(notice),
      stopping: stopping.signal,
    })
    await vi.waitFor(() => expect(alerts.length).toBeGreaterThan(0))
    expect(alerts[0]).toMatchObject({
      name: 'endpoint-not-registered',
      message: expect.stringContaining('"refused"'),
    })
    await sql`alter table holdfast.webhook_endpoints drop constraint refused`
    await vi.waitFor(
      async () =>
        expect(await sql`select from holdfast.webhook_endpoints where id = 'refused'`).toHaveLength(1),
      { timeout: 10_000 },
    )
    stopping.abort()
    await running
  })
})
