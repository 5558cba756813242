import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createScriptedProvider } from '../../test/scripted-provider.ts'
import { createTestDatabase, type TestDatabase } from '../../test/test-database.ts'
import type { Sql } from '../database/connect.ts'
import { burstOf, ensureBudgets, pauseBudget, returnShares } from './budgets.ts'

let database: TestDatabase
let sql: Sql
beforeAll(async () => {
  database = await createTestDatabase()
  sql = database.sql
})
afterAll(() => database.drop())

const limit = { perSecond: 100, inFlight: 40 }

const budgetOf = async (provider: string, operation = 'query') => {
  const [row] = await sql`
    select per_second, burst, max_in_flight, tokens, paused_until is not null as paused,
      (extract(epoch from paused_until - now()) * 1000)::float8 as "pausedMs"
    from holdfast.budgets where provider = ${provider} and operation = ${operation}
  `
  return row
}

describe('burstOf', () => {
  it('is a twentieth of a second’s worth, at least one, or what the provider says', () => {
    expect(burstOf({ perSecond: 100, inFlight: 1 })).toBe(5)
    expect(burstOf({ perSecond: 2, inFlight: 1 })).toBe(1)
    expect(burstOf({ perSecond: 100, inFlight: 1, burst: 30 })).toBe(30)
    expect(burstOf({ perSecond: 100, inFlight: 1, burst: 0 })).toBe(1)
  })
})

describe('ensureBudgets', () => {
  it('writes down what a provider takes, full', async () => {
    const provider = createScriptedProvider({
      limits: { create: { perSecond: 10, inFlight: 3 }, query: limit },
    })
    await ensureBudgets(sql, provider)
    expect(await budgetOf(provider.name, 'create')).toMatchObject({ per_second: 10, burst: 1, tokens: 1 })
    expect(await budgetOf(provider.name)).toMatchObject({ per_second: 100, max_in_flight: 40, tokens: 5 })
  })

  it('again changes nothing: what was spent stays spent, a pause stays a pause', async () => {
    const provider = createScriptedProvider({ limits: { create: limit, query: limit } })
    await ensureBudgets(sql, provider)
    await sql`update holdfast.budgets set tokens = 0.5, paused_until = now() + interval '1 min' where provider = ${provider.name}`
    await ensureBudgets(sql, provider)
    expect(await budgetOf(provider.name)).toMatchObject({ tokens: 0.5, paused: true })
  })

  it('takes new limits over without giving tokens away', async () => {
    const name = createScriptedProvider().name
    const withLimit = (perSecond: number) =>
      createScriptedProvider({ name, limits: { query: { perSecond, inFlight: 9 } } })
    await ensureBudgets(sql, withLimit(100))
    await sql`update holdfast.budgets set tokens = 2 where provider = ${name}`
    await ensureBudgets(sql, withLimit(400))
    expect(await budgetOf(name)).toMatchObject({ per_second: 400, burst: 20, tokens: 2, max_in_flight: 9 })
    // A smaller burst holds at once.
    await ensureBudgets(sql, withLimit(20))
    expect(await budgetOf(name)).toMatchObject({ per_second: 20, burst: 1, tokens: 1 })
  })

  it('many processes may do it at once', async () => {
    const provider = createScriptedProvider({ limits: { create: limit, query: limit } })
    await Promise.all(Array.from({ length: 8 }, () => ensureBudgets(sql, provider)))
    expect(await budgetOf(provider.name)).toMatchObject({ tokens: 5 })
  })
})

describe('pauseBudget', () => {
  it('is never shortened by a later, shorter one', async () => {
    const provider = createScriptedProvider()
    await ensureBudgets(sql, provider)
    await pauseBudget(sql, provider.name, 'query', 60_000)
    await pauseBudget(sql, provider.name, 'query', 1_000)
    expect((await budgetOf(provider.name))?.pausedMs).toBeGreaterThan(50_000)
    expect((await budgetOf(provider.name, 'create'))?.paused).toBe(false)
    await pauseBudget(sql, provider.name, 'query', 120_000)
    expect((await budgetOf(provider.name))?.pausedMs).toBeGreaterThan(110_000)
  })
})

describe('returnShares', () => {
  it('gives back this replica’s, of both operations, and nobody else’s', async () => {
    const provider = createScriptedProvider()
    await ensureBudgets(sql, provider)
    await sql`
      insert into holdfast.budget_shares (provider, operation, replica, in_flight, expires_at)
      select ${provider.name}, operation, replica, 1, now() + interval '1 min'
      from unnest(array['create', 'query']) operation, unnest(array['one', 'two']) replica
    `
    await returnShares(sql, provider.name, 'one')
    const left =
      await sql`select replica, operation from holdfast.budget_shares where provider = ${provider.name}`
    expect(left).toHaveLength(2)
    expect(new Set(left.map((row) => row.replica))).toEqual(new Set(['two']))
  })
})
