import type { Held, Lock } from './lock.ts'

/** Always held, by everyone: all replicas work side by side. */
export function createNoLock(): Lock {
  const closed = new AbortController()
  return {
    async acquire(_name, signal): Promise<Held> {
      signal.throwIfAborted()
      closed.signal.throwIfAborted()
      return { lost: closed.signal, async release() {} }
    },
    async close() {
      closed.abort(new Error('The lock has been closed.'))
    },
  }
}
