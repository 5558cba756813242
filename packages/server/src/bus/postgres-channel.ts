import { setTimeout as sleep } from 'node:timers/promises'
import type { Sql } from '../database/connect.ts'
import { openSession, type Session } from '../locks/open-session.ts'
import type { OpenChannel } from './channel.ts'

export interface PostgresChannelOptions {
  /** Where to speak: the pool that is there anyway. */
  sql: Sql
  /** Where to listen: a direct connection of its own, since a transaction pooler hears nothing. */
  url: string
  /** @default 'holdfast_bus' */
  name?: string
}

const ANSWER_WITHIN_MS = 5_000
const LONGEST_PAUSE_MS = 1_000

/** LISTEN and NOTIFY. A notification is a statement of its own, never a part of somebody's transaction. */
export function postgresChannel({ sql, url, name = 'holdfast_bus' }: PostgresChannelOptions): OpenChannel {
  return (listener) => {
    const closing = new AbortController()
    let session: Session | null = null

    async function listen(): Promise<void> {
      session = await openSession(url, {
        applicationName: 'holdfast-bus',
        answerWithinMs: ANSWER_WITHIN_MS,
        onNotify: (channel, text) => {
          if (channel === name) listener.message(text)
        },
      })
      await session.run((own) => own.unsafe(`listen "${name.replaceAll('"', '""')}"`))
      listener.connected()
      await closed(AbortSignal.any([session.closed, closing.signal]))
    }

    async function keepListening(): Promise<void> {
      let pauseMs = 0
      while (!closing.signal.aborted) {
        const startedAt = performance.now()
        // Who sends tells of the outage; who listens only tries again.
        await listen().catch(() => {})
        pauseMs =
          performance.now() - startedAt > LONGEST_PAUSE_MS
            ? 50
            : Math.min(LONGEST_PAUSE_MS, pauseMs * 2 || 50)
        await sleep(pauseMs * (0.5 + Math.random() / 2), undefined, { signal: closing.signal }).catch(
          () => {},
        )
      }
    }
    const listening = keepListening()

    return {
      // PostgreSQL takes less than 8000.
      maxBytes: 7_900,
      over: 'PostgreSQL',
      async send(texts) {
        await sql`select pg_notify(${name}, text) from unnest(${texts as string[]}::text[]) text`
      },
      renew: () => session?.cut(new Error('Nothing was heard for too long.')),
      async close() {
        closing.abort()
        await session?.end()
        await listening
      },
    }
  }
}

function closed(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}
