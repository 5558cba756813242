import type { Tx } from '../database/connect.ts'
import { unlessCutOff } from '../database/transaction.ts'

export interface Loan {
  tx: Tx
  takeBack(): void
}

type Steps = (inner: Tx) => unknown

/** What sends something to the database. */
const SENDING = new Set<PropertyKey>(['unsafe', 'file', 'notify', 'prepare'])

/**
 * A transaction for somebody else's code, which must not use it when its time is over: postgres.js would send what
 * comes late over the same connection, on which somebody else's transaction may be under way by then.
 */
export function lendTransaction(lent: Tx, over: AbortSignal): Loan {
  let isOver = false

  function assertInTime(): void {
    if (isOver) throw new Error('This transaction is over: a hook may use `tx` only until it returns.')
  }

  function guard(tx: Tx): Tx {
    return new Proxy(tx, {
      apply(target, self, args) {
        assertInTime()
        return Reflect.apply(target, self, args)
      },
      get(target, key) {
        const value: unknown = Reflect.get(target, key)
        if (key === 'savepoint') {
          return (...args: [...name: string[], steps: Steps]) => {
            assertInTime()
            const steps = args.pop() as Steps
            const guarded = async (inner: Tx) => steps(guard(inner))
            return Reflect.apply(target.savepoint, target, [
              ...args,
              (inner: Tx) => guarded(inner).catch((error: unknown) => unlessCutOff(error, over)),
            ])
          }
        }
        if (!SENDING.has(key) || typeof value !== 'function') return value
        return (...args: unknown[]) => {
          assertInTime()
          return Reflect.apply(value, target, args)
        }
      },
    })
  }

  return {
    tx: guard(lent),
    takeBack() {
      isOver = true
    },
  }
}
