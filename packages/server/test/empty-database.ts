import { randomBytes } from 'node:crypto'
import postgres from 'postgres'

export interface EmptyDatabase {
  sql: postgres.Sql
  drop(): Promise<void>
}

/** A database without our schema, in the cluster at `serverUrl`. */
export async function createEmptyDatabase(serverUrl: string): Promise<EmptyDatabase> {
  const name = `empty_${randomBytes(6).toString('hex')}`
  const quiet = { max: 1, onnotice: () => {} }
  const admin = postgres(serverUrl, quiet)
  await admin`create database ${admin(name)}`
  const url = new URL(serverUrl)
  url.pathname = name
  const sql = postgres(url.href, { onnotice: () => {} })
  return {
    sql,
    async drop() {
      await sql.end({ timeout: 1 })
      await admin`drop database if exists ${admin(name)} with (force)`
      await admin.end()
    },
  }
}
