import type { Sql, Tx } from '../src/database/connect.ts'

class Enough extends Error {}

/** Runs `work` in a transaction that leaves nothing behind. */
export async function rolledBack<T>(sql: Sql, work: (tx: Tx) => Promise<T>): Promise<T> {
  let result: { value: T } | undefined
  try {
    await sql.begin(async (tx) => {
      result = { value: await work(tx) }
      throw new Enough()
    })
  } catch (error) {
    if (!(error instanceof Enough)) throw error
  }
  if (!result) throw new Error('the transaction ended before its work did')
  return result.value
}
