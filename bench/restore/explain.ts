import { spawnSync } from 'node:child_process'
import type postgres from 'postgres'

export interface Explained {
  executionMs: number[]
  planningMs: number[]
  /** The plan in words, of the last time. */
  plan: string
}

export interface Sent {
  text: string
  params: readonly unknown[]
}

/**
 * Above what else runs on the machine, where that is allowed: the question is what PostgreSQL needs, and not how long
 * it waits for its turn.
 */
async function preferred(own: postgres.ReservedSql): Promise<void> {
  const [row] = await own<{ pid: number }[]>`select pg_backend_pid() as pid`
  // Linux, and root: elsewhere the times contain some waiting.
  spawnSync('chrt', ['--fifo', '--pid', '1', String(row?.pid)])
}

/** Runs a statement as the server sent it, prepared and again and again, and asks PostgreSQL how long each took. */
export async function explain(sql: postgres.Sql, { text, params }: Sent, times: number): Promise<Explained> {
  const values = params.map(literal)
  const call = values.length > 0 ? `measured (${values.join(', ')})` : 'measured'
  const own = await sql.reserve()
  try {
    await preferred(own)
    await own.unsafe(`prepare measured as ${text}`)
    const executionMs: number[] = []
    const planningMs: number[] = []
    for (let n = 0; n < times; n += 1) {
      const [row] = await own.unsafe(
        `explain (analyze, timing off, buffers off, format json) execute ${call}`,
      )
      const [plan] = (row?.['QUERY PLAN'] ?? []) as { 'Execution Time': number; 'Planning Time': number }[]
      executionMs.push(plan?.['Execution Time'] ?? Number.NaN)
      planningMs.push(plan?.['Planning Time'] ?? Number.NaN)
    }
    const lines = await own.unsafe(`explain (analyze, timing off, buffers, costs off) execute ${call}`)
    return { executionMs, planningMs, plan: lines.map((line) => line['QUERY PLAN']).join('\n') }
  } finally {
    await own.unsafe('deallocate measured')
    own.release()
  }
}

function literal(value: unknown): string {
  if (value === null || value === undefined) return 'null'
  if (value instanceof Date) return `'${value.toISOString()}'`
  if (Array.isArray(value)) return `'{${value.map((item) => JSON.stringify(item)).join(',')}}'`
  return `'${String(value).replaceAll("'", "''")}'`
}
