import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import postgres from 'postgres'
import { inject } from 'vitest'
import { TEMPLATE } from './postgres-for-tests.ts'

export interface TestDatabase {
  sql: postgres.Sql
  url: string
  /** Ends `sql`, cuts every other connection and removes the database. */
  drop(): Promise<void>
}

/**
 * An empty, migrated database of its own.
 *
 * @example
 * const { sql, drop } = await createTestDatabase()
 * afterAll(drop)
 */
export async function createTestDatabase(): Promise<TestDatabase> {
  const name = `test_${randomBytes(6).toString('hex')}`
  await asAdmin((admin) => copyTemplate(admin, name))
  const url = new URL(inject('postgresUrl'))
  url.pathname = name
  const sql = postgres(url.href, { onnotice: () => {} })
  return {
    sql,
    url: url.href,
    async drop() {
      await sql.end({ timeout: 1 })
      await asAdmin((admin) => admin`drop database if exists ${admin(name)} with (force)`)
    },
  }
}

async function asAdmin(work: (admin: postgres.Sql) => PromiseLike<unknown>): Promise<void> {
  const admin = postgres(inject('postgresUrl'), { max: 1, onnotice: () => {} })
  try {
    await work(admin)
  } finally {
    await admin.end()
  }
}

async function copyTemplate(admin: postgres.Sql, name: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await admin`create database ${admin(name)} template ${admin(TEMPLATE)}`
      return
    } catch (error) {
      // 55006: someone, such as autovacuum, is in the template at this moment.
      if (!(error instanceof postgres.PostgresError) || error.code !== '55006' || attempt === 50) throw error
      await delay(100)
    }
  }
}
