import { afterAll, beforeAll, expect, it } from 'vitest'
import { claimPolls } from '../../test/claim-works.ts'
import { queueWork } from '../../test/queue-work.ts'
import { createScriptedProvider } from '../../test/scripted-provider.ts'
import { createTestDatabase, type TestDatabase } from '../../test/test-database.ts'
import { connect, type Sql } from '../database/connect.ts'
import { ensureBudgets } from './budgets.ts'
import { ALL_LANES } from './lanes.ts'

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

it('the budget also fills up while a claim takes its time', async () => {
  const limit = { perSecond: 100, burst: 10, inFlight: 1_000 }
  const provider = createScriptedProvider({ limits: { query: limit, create: limit } })
  await ensureBudgets(sql, provider)
  await queueWork(sql, { provider: provider.name, kind: 'poll', count: 20 })
  // A busy database: ten rows take 300 ms, in which a budget of ten fills up three times over.
  await sql`
    create function holdfast.take_time() returns trigger language plpgsql as
      'begin perform pg_sleep(0.03); return new; end'
  `
  await sql`create trigger take_time before update on holdfast.work for each row execute function holdfast.take_time()`

  const options = {
    provider: provider.name,
    lanes: ALL_LANES,
    limit: 1_000,
    replica: 'one',
    inFlight: 0,
    leaseMs: 15_000,
  }
  expect(await claimPolls(sql, options)).toHaveLength(10)
  expect(await claimPolls(sql, options)).toHaveLength(10)
})
