import type { Sql } from './connect.ts'
import { errorCode, isDatabaseAway, isLoginRefused } from './database-errors.ts'
import { readSchemaState } from './schema-state.ts'

/** Why a server cannot begin, or go on. Its message says what to do, and names no password. */
export class NotReady extends Error {
  override readonly name = 'NotReady'
  /** Whether it can mend itself: PostgreSQL is away and may come back. */
  readonly isAway: boolean

  constructor(message: string, options: { cause?: unknown; isAway?: boolean } = {}) {
    super(message, { cause: options.cause })
    this.isAway = options.isAway ?? false
  }
}

/** Rejects with `NotReady` unless the database can be reached and its schema is that of this release, or newer. */
export async function assertReady(sql: Sql): Promise<void> {
  const state = await readSchemaState(sql).catch((error: unknown) => {
    throw explainDatabaseError(error, `${sql.options.host[0]}:${sql.options.port[0]}`)
  })
  if (state === 'missing') throw new NotReady('The schema is missing: run `holdfast migrate`.')
  if (state === 'older') {
    throw new NotReady('The schema is older than this release: run `holdfast migrate`.')
  }
}

/** In plain words why the first statement failed. `where`: host and port. */
export function explainDatabaseError(error: unknown, where: string): Error {
  const said = error instanceof Error ? error.message : String(error)
  if (isLoginRefused(error)) {
    return new NotReady(`PostgreSQL at ${where} refuses the login: ${said}.`, { cause: error })
  }
  if (isDatabaseAway(error)) {
    const why = said === '' ? errorCode(error) : said
    return new NotReady(`PostgreSQL cannot be reached at ${where}: ${why}.`, { cause: error, isAway: true })
  }
  if (errorCode(error) === '42501') {
    return new NotReady(`The role of the database URL may not read the schema holdfast: ${said}.`, {
      cause: error,
    })
  }
  return error instanceof Error ? error : new Error(said)
}
