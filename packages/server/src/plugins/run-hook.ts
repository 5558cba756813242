import type { Tx } from '../database/connect.ts'
import { lendTransaction } from './lend-transaction.ts'

/** Where a hook runs. */
export interface HookPlace {
  tx: Tx
  /** Aborted when the transaction has ended, see `transaction`. */
  over: AbortSignal
  limitMs: number
}

/** Rows stay locked while a hook runs, so it gets little time. */
export const PLUGIN_LIMIT_MS = 5_000

/** A hook that did not return in time. */
export class HookTimedOut extends Error {
  override readonly name = 'HookTimedOut'
}

/**
 * Calls a hook of a plugin with a transaction that is its own until it returns, or until its time is up. A statement
 * that it has under way by then is ended by `limitStatements`, which the caller has done before.
 */
export async function runHook(
  { tx, over, limitMs }: HookPlace,
  what: string,
  hook: (lent: Tx) => Promise<void> | undefined,
): Promise<void> {
  const loan = lendTransaction(tx, over)
  let timer: NodeJS.Timeout | undefined
  const timeUp = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new HookTimedOut(`${what} did not return within ${limitMs} ms.`)),
      limitMs,
    )
  })
  try {
    await Promise.race([hook(loan.tx), timeUp])
  } finally {
    clearTimeout(timer)
    loan.takeBack()
  }
}

/** From here to the end of the transaction no statement takes longer, say by waiting for somebody's lock. */
export async function limitStatements({ tx, limitMs }: HookPlace): Promise<void> {
  await tx`select set_config('statement_timeout', ${String(limitMs)}, true)`
}
