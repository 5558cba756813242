import type { StreamEnd } from '@holdfast/shared'
import { Hono } from 'hono'
import { streamSSE } from 'hono/streaming'
import { hastenPolls } from '../engine/hasten-polls.ts'
import { HoldfastError } from '../errors.ts'
import { createBrowserStreams } from '../streams/browser-streams.ts'
import { followTasks } from '../streams/follow-tasks.ts'
import type { AppContext, AppEnv } from './app-context.ts'

const MAX_TIMER_MS = 2 ** 31 - 1

export function streamRoutes({ sql, bus, engine, streams, providers, stopping }: AppContext) {
  const minPollMs = Math.min(...[...providers.values()].map((provider) => provider.limits.minPollMs))
  const browserStreams = createBrowserStreams()

  return new Hono<AppEnv>().get('/', async (c) => {
    // Nobody would read what it sends, and so nobody would ever end it.
    if (c.req.method === 'HEAD') return c.body(null, 200, { 'Content-Type': 'text/event-stream' })
    const { userId, expiresAt } = c.get('identity')
    const log = c.get('log')
    const cursor = c.req.header('last-event-id') ?? null
    const browserId = c.req.header('x-holdfast-browser')
    const epoch = readEpoch(c.req.header('x-holdfast-epoch'))
    // Before the headers are out, so that a database that is away is still answered with a problem.
    await hastenPolls(sql, userId, minPollMs)
    engine.wake()

    const superseded = new AbortController()
    const leave =
      browserId === undefined
        ? () => {}
        : browserStreams.enter({ userId, browserId, epoch, supersede: () => superseded.abort() })
    if (!leave) {
      throw new HoldfastError(
        'SUPERSEDED',
        'Another tab of this browser leads by now and has its own stream. Listen to that tab instead.',
      )
    }

    const response = streamSSE(c, async (stream) => {
      const gone = new AbortController()
      stream.onAbort(() => gone.abort())
      const expiry = new AbortController()
      const timer = expiresAt
        ? setTimeout(
            () => expiry.abort(),
            Math.min(MAX_TIMER_MS, Math.max(0, expiresAt.getTime() - Date.now())),
          )
        : undefined
      log.info({ userId, browser: browserId, epoch }, 'stream opened')
      try {
        await followTasks({
          sql,
          bus,
          userId,
          cursor,
          ...streams,
          signal: AbortSignal.any([gone.signal, expiry.signal, superseded.signal, stopping]),
          send: (event, data, id) =>
            stream.writeSSE({ event, data: JSON.stringify(data), ...(id === undefined ? {} : { id }) }),
          beat: async () => {
            await stream.write(': still here\n\n')
          },
        })
        if (gone.signal.aborted) return
        const reason: StreamEnd = superseded.signal.aborted
          ? 'superseded'
          : expiry.signal.aborted
            ? 'token-expired'
            : 'shutdown'
        await stream.writeSSE({ event: 'end', data: JSON.stringify({ reason }) })
      } catch (error) {
        // There is no problem to answer with any more: the client reconnects and resumes. Not left to Hono, which
        // would send the message, and with it our insides, to the client.
        log.warn({ err: error }, 'stream broke off')
      } finally {
        clearTimeout(timer)
        leave()
        log.info({ userId }, 'stream closed')
      }
    })
    // Proxies that buffer or compress would hold every event back. After streamSSE, which has its own opinion.
    response.headers.set('X-Accel-Buffering', 'no')
    response.headers.set('Cache-Control', 'no-store, no-transform')
    return response
  })
}

/** Clients that know nothing of epochs come as 0: then the later stream wins. */
function readEpoch(header: string | undefined): number {
  if (header === undefined) return 0
  const epoch = Number(header)
  if (Number.isSafeInteger(epoch) && epoch >= 0) return epoch
  throw new HoldfastError('INVALID_REQUEST', 'X-Holdfast-Epoch must be a whole number, 0 or more.')
}
