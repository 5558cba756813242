import { setTimeout as sleep } from 'node:timers/promises'

const BETWEEN_TRIES_MS = 100

/** Keeps a user's stream open, as a browser does, until the returned function is called. */
export function watchTasks(url: string, userId: string): () => Promise<void> {
  const closed = new AbortController()

  async function watch(): Promise<void> {
    while (!closed.signal.aborted) {
      try {
        const response = await fetch(`${url}/v1/stream`, {
          headers: { authorization: `Bearer ${userId}` },
          signal: closed.signal,
        })
        for await (const _ of response.body ?? []);
      } catch {
        // Cut off, or nobody there: come back.
      }
      await sleep(BETWEEN_TRIES_MS, undefined, { signal: closed.signal }).catch(() => undefined)
    }
  }
  const watching = watch()
  return async () => {
    closed.abort()
    await watching
  }
}
