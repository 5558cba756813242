import type { StreamEnd } from '@holdfast/shared'
import { type Context, Hono } from 'hono'
import { HoldfastError } from '../errors.ts'
import { createBrowserStreams } from '../streams/browser-streams.ts'
import { createEventStream, type EventStream } from '../streams/event-stream.ts'
import { createFeeds } from '../streams/feeds.ts'
import { createStreamOutage } from '../streams/stream-outage.ts'
import { hastenPolls, shortestPollMs } from '../work/poll/hasten-polls.ts'
import type { AppContext, AppEnv } from './app-context.ts'

/** Browsers that lost their stream together, say with a replica, come back spread over so much more than a second. */
const RECONNECT_OVER_MS = 4_000

const HEADERS = {
  'Content-Type': 'text/event-stream',
  // Proxies that buffer or compress would hold every event back.
  'Cache-Control': 'no-store, no-transform',
  'X-Accel-Buffering': 'no',
}

export function streamRoutes(context: AppContext) {
  const { sql, bus, present, streams, providers, conversations, stopping, metrics } = context
  const minPollMs = shortestPollMs(providers)
  const browserStreams = createBrowserStreams()
  bus.onOpened((elsewhere) => {
    const newer = browserStreams.hear(elsewhere)
    if (newer) bus.publishOpened(newer)
  })
  const outage = createStreamOutage(context.log)
  const feeds = createFeeds({ sql, bus, present, outage, conversations, ...streams })
  const open = new Set<EventStream>()
  // One listener for all: with one each, opening and closing would walk through thousands.
  stopping.addEventListener('abort', () => {
    for (const stream of open) stream.end('shutdown')
    feeds.close()
  })

  function prepare(c: Context<AppEnv>, userId: string, onEnd: () => void) {
    let stream: EventStream | undefined
    let ending: StreamEnd | null = null
    const log = c.get('log')
    const end = (reason: StreamEnd) => {
      ending = reason
      stream?.end(reason)
    }
    async function start(): Promise<Response> {
      // All that can fail comes before the headers are out, so that it is still answered with a problem.
      const reader = await feeds.join({
        userId,
        cursor: c.req.header('last-event-id') ?? null,
        onNews: () => stream?.news(),
        first: () => hastenPolls(context, userId, minPollMs),
      })
      const { expiresAt } = c.get('identity')
      const opened = createEventStream({
        reader,
        ...streams,
        expiresInMs: expiresAt && expiresAt.getTime() - Date.now(),
        retryMs: 1_000 + Math.random() * RECONNECT_OVER_MS,
        cut: () => c.env?.outgoing?.destroy(),
        onClose(how) {
          open.delete(opened)
          metrics.streams(open.size)
          onEnd()
          if (how === 'stalled') {
            metrics.cutStream()
            log.warn({ userId }, 'a client that takes nothing was cut off')
          }
          log.info({ userId, how }, 'stream closed')
        },
      })
      stream = opened
      open.add(opened)
      metrics.streams(open.size)
      if (ending ?? (stopping.aborted && 'shutdown')) opened.end(ending ?? 'shutdown')
      return new Response(opened.body, { headers: HEADERS })
    }
    return { start, end }
  }

  return new Hono<AppEnv>().get('/', async (c) => {
    // Nobody would read what it sends, and so nobody would ever end it.
    if (c.req.method === 'HEAD') return c.body(null, 200, { 'Content-Type': 'text/event-stream' })
    const { userId } = c.get('identity')
    const browserId = c.req.header('x-holdfast-browser')
    const epoch = readEpoch(c.req.header('x-holdfast-epoch'))
    let leave: (() => void) | null = () => {}
    const { start, end } = prepare(c, userId, () => leave?.())
    if (browserId !== undefined) {
      leave = browserStreams.enter({ userId, browserId, epoch, supersede: () => end('superseded') })
    }
    if (!leave) {
      throw new HoldfastError(
        'SUPERSEDED',
        'Another tab of this browser leads by now and has its own stream. Listen to that tab instead.',
      )
    }
    try {
      const response = await start()
      c.get('log').info({ userId, browser: browserId, epoch }, 'stream opened')
      if (browserId !== undefined) bus.publishOpened({ userId, browserId, epoch })
      // Gone while it was being prepared: nobody would read it, and so nobody would ever end it.
      const { outgoing } = c.env ?? {}
      if (outgoing?.destroyed ?? outgoing?.stream?.destroyed) await response.body?.cancel()
      return response
    } catch (error) {
      leave()
      throw error
    }
  })
}

/** Clients that know nothing of epochs come as 0: then the later stream wins. */
function readEpoch(header: string | undefined): number {
  if (header === undefined) return 0
  const epoch = Number(header)
  if (Number.isSafeInteger(epoch) && epoch >= 0) return epoch
  throw new HoldfastError('INVALID_REQUEST', 'X-Holdfast-Epoch must be a whole number, 0 or more.')
}
