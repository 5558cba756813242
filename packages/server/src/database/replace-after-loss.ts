import type postgres from 'postgres'

/** What is still being answered over the other connections of a pool that was replaced gets this long. */
const DRAIN_MS = 30_000

/**
 * A pool that is replaced as a whole when it loses a connection.
 *
 * postgres.js 3.4 connects anew in the same object, with what the lost connection left behind: the old server's last
 * words, with which it refuses the next query; half a message, which it sends before its greeting; and a timer that
 * it believes to be running, so that it never writes again. Then some queries of a pool fail for ever
 * (https://github.com/porsager/postgres/pull/1215). In a new pool there is nothing left behind.
 */
export function replaceAfterLoss(open: (onclose: () => void) => postgres.Sql): postgres.Sql {
  const replaced = new Map<postgres.Sql, NodeJS.Timeout>()
  let ended = false
  let current = next()

  function next(): postgres.Sql {
    const pool = open(() => {
      if (ended || pool !== current) return
      current = next()
      replaced.set(pool, setTimeout(() => void cut(pool), DRAIN_MS).unref())
    })
    return pool
  }

  async function cut(pool: postgres.Sql): Promise<void> {
    clearTimeout(replaced.get(pool))
    replaced.delete(pool)
    await pool.end({ timeout: 0 })
  }

  async function end(options?: { timeout?: number }): Promise<void> {
    ended = true
    await Promise.all([current.end(options), ...[...replaced.keys()].map(cut)])
  }

  return new Proxy(current, {
    apply: (_, self, args) => Reflect.apply(current, self, args),
    get: (_, key) => (key === 'end' ? end : Reflect.get(current, key)),
  })
}
