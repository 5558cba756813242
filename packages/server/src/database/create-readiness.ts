import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { findTransactionPooler } from '../locks/find-transaction-pooler.ts'
import { logFailure } from '../outage-log.ts'
import { assertReady, explainDatabaseError, NotReady } from './assert-ready.ts'
import type { Pool, Sql } from './connect.ts'
import { hostOf } from './driver-url.ts'

export interface ReadinessParts {
  sql: Sql
  /** Null where the app brought a pool of its own: then it knows what that leads to. */
  pool: (Pool & { url: string }) | null
  log: Logger
  stopping: AbortSignal
}

const FIRST_PAUSE_MS = 250
const LONGEST_PAUSE_MS = 5_000

/** Whether a server can begin: where its database URL leads, that it leads there, and what is found there. */
export function createReadiness({ sql, pool, log, stopping }: ReadinessParts) {
  let known: Promise<void> | undefined

  async function findPooler(): Promise<void> {
    // What looks pooled is not prepared anyway.
    if (!pool || !sql.options.prepare) return
    const isPooled = await findTransactionPooler(pool.url).catch((error: unknown) => {
      throw explainDatabaseError(error, hostOf(pool.url))
    })
    if (isPooled) pool.stopPreparing()
  }

  /** After this no statement is prepared that a transaction pooler would lose. */
  function poolerKnown(): Promise<void> {
    known ??= findPooler().catch((error: unknown) => {
      known = undefined
      throw error
    })
    return known
  }

  async function ready(): Promise<void> {
    await poolerKnown()
    await assertReady(sql)
  }

  /** Waits while PostgreSQL is away. False: told to stop before it was ready. */
  async function untilReady(): Promise<boolean> {
    for (let pauseMs = FIRST_PAUSE_MS; !stopping.aborted; pauseMs = Math.min(LONGEST_PAUSE_MS, pauseMs * 2)) {
      try {
        await ready()
        break
      } catch (error) {
        if (stopping.aborted) break
        if (!(error instanceof NotReady) || !error.isAway) throw error
        logFailure(log, error.cause, 'waiting for PostgreSQL before work begins')
        await sleep(pauseMs, undefined, { signal: stopping }).catch(() => {})
      }
    }
    return !stopping.aborted
  }

  return { poolerKnown, ready, untilReady }
}
