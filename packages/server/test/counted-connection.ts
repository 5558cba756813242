import postgres from 'postgres'
import { arrayTypes } from '../src/database/array-types.ts'
import type { Sql } from '../src/database/connect.ts'

/** A pool set up as ours are, that writes down every statement it sends. */
export function connectCounted(url: string): { sql: Sql; statements: string[] } {
  const statements: string[] = []
  const sql = postgres(url, {
    fetch_types: false,
    types: arrayTypes,
    onnotice: () => {},
    debug: (_connection, statement) => void statements.push(statement),
  })
  return { sql, statements }
}
