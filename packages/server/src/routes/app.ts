import { Hono } from 'hono'
import { cors } from 'hono/cors'
import { secureHeaders } from 'hono/secure-headers'
import { HoldfastError } from '../errors.ts'
import { createPollWatch, type PollWatch } from '../streams/poll-watch.ts'
import { hastenPolls, shortestPollMs } from '../work/poll/hasten-polls.ts'
import { adminRoutes } from './admin.ts'
import type { AppContext, AppEnv } from './app-context.ts'
import { conversationRoutes } from './conversations.ts'
import { creditRoutes } from './credits.ts'
import { fileRoutes } from './files.ts'
import { healthRoutes } from './health.ts'
import { limitBody } from './limit-body.ts'
import { metricsRoutes } from './metrics.ts'
import { problemResponse } from './problem-response.ts'
import { actForUser, openToServices, requireUser } from './require-user.ts'
import { streamRoutes } from './stream.ts'
import { syncRoutes } from './sync.ts'
import { taskRoutes } from './tasks.ts'
import { trace } from './trace.ts'
import { webhookRoutes } from './webhooks.ts'

/** Large enough for any prompt with its settings, small enough to be read into memory. */
const MAX_BODY_BYTES = 256 * 1024

/** The HTTP API. Other things (a studio, a development login) are added around it. */
export function createApp(context: AppContext): Hono<AppEnv> {
  const app = new Hono<AppEnv>()
  app.onError((error, c) => problemResponse(error, c))
  app.notFound((c) => {
    context.requests.stranger(c)
    // Without the address, which may carry a secret and would be logged.
    throw new HoldfastError('NOT_FOUND', `There is nothing at this address for ${c.req.method}.`)
  })

  app.use(trace(context.log))
  app.use(
    secureHeaders({
      crossOriginResourcePolicy: false,
      xFrameOptions: 'DENY',
      strictTransportSecurity: false,
    }),
  )
  if (context.corsOrigins.length > 0) {
    app.use(
      '/v1/*',
      cors({
        origin: [...context.corsOrigins],
        allowHeaders: [
          'Authorization',
          'Content-Type',
          'Idempotency-Key',
          'If-None-Match',
          'Last-Event-ID',
          'X-Holdfast-Browser',
          'X-Holdfast-Epoch',
          'traceparent',
          'tracestate',
        ],
        exposeHeaders: ['X-Trace-Id', 'Retry-After', 'ETag'],
        maxAge: 600,
      }),
    )
  }
  // Before the limit and the token that hold for everyone else.
  app.route('/v1/webhooks', webhookRoutes(context))
  app.route('/', healthRoutes(context))
  app.route('/', metricsRoutes(context))
  // Outside of /v1: a URL of a file carries its own permission.
  if (context.files) app.route('/', fileRoutes(context.files))
  app.use('/v1/tasks/*', openToServices)
  app.use('/v1/*', requireUser(context))
  // Not before: nothing is read for those whom nobody knows.
  app.use(
    limitBody({
      maxBytes: MAX_BODY_BYTES,
      message: `The body may have at most ${MAX_BODY_BYTES / 1024} kB.`,
    }),
  )
  app.use('/v1/*', actForUser)
  const watch = watchPolls(context)
  app.route('/v1/tasks', taskRoutes(context, watch))
  app.route('/v1/sync', syncRoutes(context, watch))
  app.route('/v1/stream', streamRoutes(context))
  if (context.conversations) app.route('/v1/conversations', conversationRoutes(context))
  app.route('/v1/credits', creditRoutes(context))
  app.route('/v1/admin', adminRoutes(context))
  return app
}

function watchPolls(context: AppContext): PollWatch {
  const { bus, providers, log, stopping } = context
  const watch = createPollWatch({
    bus,
    onWatched(userId) {
      // Nobody waits for it: it only makes the next poll come sooner.
      hastenPolls(context, userId, shortestPollMs(providers)).catch((error: unknown) =>
        log.debug({ err: error, userId }, 'polls could not be hastened'),
      )
    },
  })
  stopping.addEventListener('abort', () => watch.close())
  return watch
}
