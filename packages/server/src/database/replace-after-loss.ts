import type postgres from 'postgres'

/** What is still being answered by the other connections of a pool that was replaced gets this long. */
const DRAIN_SECONDS = 60

/**
 * A pool that is replaced as a whole when it loses a connection.
 *
 * postgres.js 3.4 connects anew in the same object, with what the lost connection left behind: the old server's last
 * words, with which it refuses the next query; half a message, which it sends before its greeting; and a timer that
 * it believes to be running, so that it never writes again. Then some queries of a pool fail for ever
 * (https://github.com/porsager/postgres/pull/1215). In a new pool there is nothing to leave behind.
 */
export function replaceAfterLoss(open: (onclose: () => void) => postgres.Sql): postgres.Sql {
  const draining = new Set<Promise<void>>()
  let ended = false
  let current = next()

  function next(): postgres.Sql {
    const pool = open(() => {
      if (ended || pool !== current) return
      current = next()
      drain(pool, DRAIN_SECONDS)
    })
    return pool
  }

  function drain(pool: postgres.Sql, timeout: number): void {
    const drained: Promise<void> = pool
      .end({ timeout })
      // There is nobody left whom it could concern.
      .catch(() => {})
      .finally(() => draining.delete(drained))
    draining.add(drained)
  }

  async function end(options?: { timeout?: number }): Promise<void> {
    ended = true
    await Promise.all([current.end(options), ...draining])
  }

  return new Proxy(current, {
    apply: (_, self, args) => Reflect.apply(current, self, args),
    get: (_, key) => (key === 'end' ? end : Reflect.get(current, key)),
  })
}
