import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2'
import { getRequestListener } from '@hono/node-server'
import type { Hono } from 'hono'
import type { Logger } from 'pino'
import { createAlerts } from './alerts/create-alerts.ts'
import type { AlertWebhook } from './alerts/post-alert.ts'
import { createSignUrls } from './artifacts/signed-urls.ts'
import { createSourceOpener } from './artifacts/source/open-source.ts'
import type { Authenticate } from './auth/authenticate.ts'
import { createJwtAuthenticate, type JwtAuthOptions } from './auth/jwt-authenticate.ts'
import { rememberTokens } from './auth/remember-tokens.ts'
import { createServiceKeys } from './auth/service-keys.ts'
import type { Bus } from './bus/bus.ts'
import { createNotify } from './bus/create-notify.ts'
import { createMemoryBus } from './bus/memory-bus.ts'
import { connect, openPool, type Sql } from './database/connect.ts'
import { createReadiness } from './database/create-readiness.ts'
import { migrate } from './database/migrate.ts'
import type { HotStore } from './hot/hot-store.ts'
import { createMemoryHot } from './hot/memory-hot.ts'
import type { Lock } from './locks/lock.ts'
import { createNoLock } from './locks/no-lock.ts'
import { createLog } from './log.ts'
import { createMetrics } from './metrics/metrics.ts'
import type { FilesystemStore } from './objects/filesystem-store.ts'
import type { ObjectStore } from './objects/object-store.ts'
import { assemblePlugins, type PluginSettings } from './plugins/assemble-plugins.ts'
import { type Credits, createCredits } from './plugins/credits/credits.ts'
import type { Provider } from './providers/provider.ts'
import { createApp } from './routes/app.ts'
import {
  type AppEnv,
  defaultStreamOptions,
  type RouteTask,
  type StreamOptions,
} from './routes/app-context.ts'
import { cutStalled } from './routes/cut-stalled.ts'
import { createRequestLimits, type RequestsPerMinute } from './routes/request-limits.ts'
import { createUnreadAnswers } from './routes/unread-answers.ts'
import { defaultRetention, type Retention } from './sweeps/sweep-old-rows.ts'
import { createAftermath } from './tasks/aftermath.ts'
import { type PriorityByPlan, toChoosePriority } from './tasks/choose-priority.ts'
import { createSettle } from './tasks/create-settle.ts'
import { createSubmit } from './tasks/create-submit.ts'
import { type KeepResults, keepByPlan } from './tasks/keep-results.ts'
import { createPresenter } from './tasks/present-tasks.ts'
import { type RouteByPlan, routeByPlan } from './tasks/route-by-plan.ts'
import { createSave } from './tasks/save-task.ts'
import { defaultTaskTypes, type TaskTypes } from './tasks/task-types.ts'
import { defaultMirrorOptions, type MirrorOptions } from './work/copy/copy-options.ts'
import { checkEndpoints, type WebhookEndpoint } from './work/deliver/endpoint.ts'
import { createEngine, defaultEngineOptions, type EngineOptions } from './work/workers.ts'

const DEFAULT_TASKS_PER_MINUTE = 60
const DEFAULT_UNFINISHED_TASKS = 100

export interface HoldfastConfig extends PluginSettings {
  /**
   * A PostgreSQL URL, which may lead to a pooler in transaction mode, or a postgres.js pool of yours. That one you close
   * yourself, and behind such a pooler it needs `prepare: false`.
   */
  database: string | Sql
  /** The same PostgreSQL without such a pooler in between, for `migrate`. @default `database` */
  directUrl?: string
  /** How tokens are checked: JWT settings, or a function of yours. */
  auth: JwtAuthOptions | Authenticate
  /**
   * Keys with which your own backend creates, adopts, reads and cancels tasks for any of your users. Several at once, so
   * that they can be rotated. @default none
   */
  serviceKeys?: string[]
  /** The external APIs that do the work. */
  providers: Provider[]
  /** What users may ask for. @default `image` and `video` at KIE */
  types?: TaskTypes
  /**
   * Which process does the work: `createAdvisoryLock` or `createRedisLock` let one do it while the others stand by.
   * @default none: all replicas work side by side
   */
  lock?: Lock
  /**
   * How replicas tell each other of changes: `createReplicatedBus` over `redisChannel` or `postgresChannel`. Closed by
   * `stop`. @default this process's memory: right for a single one
   */
  bus?: Bus
  /** Where progress goes before it goes to the database: `createRedisHot`. Closed by `stop`. @default memory */
  hot?: HotStore
  /**
   * Which lanes the tasks of a plan go to; those of plans that are not named go to `free_default`.
   * @default `enterprise` its own, `free` and no plan `free_default`, every other plan `vip_short` or `vip_long`
   */
  routeByPlan?: RouteByPlan
  /** Which lane a new task goes to. @default as `routeByPlan` says */
  route?: RouteTask
  /** Where result files are copied to. @default nowhere: users see the providers' own URLs, which soon die */
  objects?: ObjectStore
  /** How they are copied there, and shown. */
  mirror?: Partial<MirrorOptions>
  /**
   * Where providers can reach this server from outside, such as `https://api.example.com`. They are then asked to call
   * back, so that a finish is heard of at once; without it they are only polled.
   */
  publicUrl?: string
  /** URLs of your own that are told of what happens to tasks, by signed webhooks. @default none */
  webhooks?: WebhookEndpoint[]
  /** How long result files are kept. @default 3 days, or 30 for a user with a plan other than `free` */
  keepResults?: KeepResults
  /**
   * Which priority the tasks of a plan have, or a function that says so. Users cannot ask for one, service keys can.
   * @default `normal` for all
   */
  priorityByPlan?: PriorityByPlan
  /** How long the rows of ended tasks are kept. @default 7 days, failed ones 30; never shorter than their files */
  retention?: Partial<Retention>
  /** How many tasks a user may create in a minute. @default 60 */
  tasksPerMinute?: number
  /**
   * How many tasks of a user may be unfinished at a time, by the plan of the token if it is a function. Tasks that a
   * service key makes are counted, but never refused. @default 100
   */
  unfinishedTasks?: number | ((plan: string | null) => number)
  /** How many requests a minute this process takes. @default 600 of a user, 60 of an address without a good token */
  requestsPerMinute?: Partial<RequestsPerMinute>
  /**
   * How many proxies stand in front: the caller's address is then taken from that place in `X-Forwarded-For`, counted
   * from the end. @default 0: the header is not believed
   */
  trustProxy?: number
  /** Lets whoever sends it as a bearer token read `/metrics`; without one, only callers on loopback may. */
  metricsToken?: string
  /** Origins whose pages may call the API. @default none */
  corsOrigins?: string[]
  /** A chat that is told of what an operator has to look at: the address of its incoming webhook. @default none */
  alertWebhook?: AlertWebhook
  log?: Logger
  engine?: Partial<EngineOptions>
  streams?: Partial<StreamOptions>
}

export interface Holdfast {
  /** For a Hono app: `yours.route('/', holdfast.app)`. */
  app: Hono<AppEnv>
  /** For `node:http`, `node:http2`, Express and the like. */
  listener: (
    request: IncomingMessage | Http2ServerRequest,
    response: ServerResponse | Http2ServerResponse,
  ) => void
  /** Users' credits, where they are switched on. */
  credits: Credits
  /** Brings the schema up to date and returns what was applied. Safe to call from many processes at once. */
  migrate(): Promise<string[]>
  /** Rejects, and says why, unless the database can be reached and its schema is that of this release, or newer. */
  ready(): Promise<void>
  /**
   * Starts polling. Rejects if the schema is missing or older, or the login is refused; while PostgreSQL cannot be
   * reached it waits.
   */
  start(): Promise<void>
  /** Ends streams, stops claiming, waits for what is under way, closes connections. Idempotent. */
  stop(): Promise<void>
}

/**
 * The backend, to run by itself or inside your own server.
 *
 * @example
 * const holdfast = createHoldfast({
 *   database: process.env.DATABASE_URL,
 *   auth: { secret: process.env.SUPABASE_JWT_SECRET, audience: 'authenticated' },
 *   providers: [createKie({ apiKey: process.env.KIE_API_KEY, models: { image: 'google/nano-banana' } })],
 * })
 * await holdfast.migrate()
 * await holdfast.start()
 * http.createServer(holdfast.listener).listen(8787)
 */
export function createHoldfast(config: HoldfastConfig): Holdfast {
  const log = config.log ?? createLog('info')
  const { sql, ownPool } = openDatabase(config.database)
  const types = config.types ?? defaultTaskTypes
  const providers = new Map(config.providers.map((provider) => [provider.name, provider]))
  for (const [name, type] of Object.entries(types)) {
    if (!providers.has(type.provider)) {
      throw new Error(
        `Task type "${name}" is done by provider "${type.provider}", which is not among config.providers.`,
      )
    }
  }
  // A function of the app's own may know more than the token says, and is asked each time.
  const authenticate =
    typeof config.auth === 'function' ? config.auth : rememberTokens(createJwtAuthenticate(config.auth))
  const bus = config.bus ?? createMemoryBus()
  const notify = createNotify({ bus, log, tellsEndpoints: (config.webhooks ?? []).length > 0 })
  const hot = config.hot ?? createMemoryHot()
  const lock = config.lock ?? createNoLock()
  const stopping = new AbortController()
  const readiness = createReadiness({ sql, pool: ownPool, log, stopping: stopping.signal })
  const metrics = createMetrics()
  const alerts = createAlerts({ log, ...(config.alertWebhook ? { webhook: config.alertWebhook } : {}) })
  const plugins = assemblePlugins(config, types, { log, alert: alerts.alert })
  const canCancel = (provider: string) => providers.get(provider)?.cancel !== undefined
  const settle = createSettle({ sql, notify, plugins, log, alert: alerts.alert, hot, canCancel })
  const aftermath = createAftermath(plugins)
  const mirror = { ...defaultMirrorOptions, ...config.mirror }
  const source = config.objects ? createSourceOpener() : undefined
  const signUrls = config.objects
    ? createSignUrls({ objects: config.objects, lifetimeMs: mirror.urlLifetimeMs, log })
    : null
  const present = createPresenter(signUrls, hot)
  checkEndpoints(config.webhooks ?? [])
  const engine = createEngine(
    {
      sql,
      notify,
      settle,
      aftermath,
      alert: alerts.alert,
      bus,
      hot,
      types,
      providers,
      log,
      metrics,
      lock,
      objects: config.objects,
      source,
      mirror,
      publicUrl: config.publicUrl,
      webhooks: config.webhooks,
      present,
      retention: { ...defaultRetention, ...config.retention },
    },
    { ...defaultEngineOptions, ...config.engine },
  )
  const { unfinishedTasks = DEFAULT_UNFINISHED_TASKS } = config
  const streams = { ...defaultStreamOptions, ...config.streams }
  const app = createApp({
    sql,
    notify,
    ready: readiness.ready,
    isLockAway: () => lock.isAway?.() ?? false,
    submit: createSubmit({ sql, notify, types, plugins }),
    settle,
    save: createSave({ sql, notify, plugins, log }),
    present,
    files: config.objects && servesFiles(config.objects) ? config.objects : null,
    conversations: config.conversations ?? true,
    credits: config.credits ?? false,
    bus,
    authenticate,
    isServiceKey: createServiceKeys(config.serviceKeys ?? []),
    providers,
    types,
    log,
    metrics,
    metricsToken: config.metricsToken ?? null,
    route: config.route ?? ((task) => routeByPlan(task, types, config.routeByPlan)),
    keepResults: config.keepResults ?? keepByPlan,
    choosePriority: toChoosePriority(config.priorityByPlan ?? {}),
    room: (plan) => ({
      perMinute: config.tasksPerMinute ?? DEFAULT_TASKS_PER_MINUTE,
      unfinished: typeof unfinishedTasks === 'function' ? unfinishedTasks(plan) : unfinishedTasks,
    }),
    requests: createRequestLimits({
      ...config.requestsPerMinute,
      trustProxy: config.trustProxy ?? 0,
      log,
    }),
    answers: createUnreadAnswers(),
    corsOrigins: config.corsOrigins ?? [],
    streams,
    stopping: stopping.signal,
  })

  async function migrateSchema(): Promise<string[]> {
    const direct = config.directUrl ? connect(config.directUrl, { maxConnections: 1 }) : null
    try {
      if (!direct) await readiness.poolerKnown()
      return await migrate(direct ?? sql, { log: (line) => log.info(line) })
    } finally {
      await direct?.end({ timeout: 5 })
    }
  }

  let stopped: Promise<void> | undefined
  async function start(): Promise<void> {
    if (await readiness.untilReady()) engine.start()
  }

  async function stop(): Promise<void> {
    stopping.abort()
    await engine.stop()
    await Promise.all([bus.close(), hot.close()])
    await source?.close()
    await alerts.close()
    await Promise.all([...providers.values()].map((provider) => provider.close()))
    if (ownPool) await sql.end({ timeout: 5 })
  }

  return {
    app,
    // Streams see to it themselves, sooner, and count it.
    listener: cutStalled(getRequestListener(app.fetch), 2 * streams.stallMs),
    credits: createCredits(sql, config.credits ?? false),
    migrate: migrateSchema,
    ready: readiness.ready,
    start,
    stop: () => {
      stopped ??= stop()
      return stopped
    },
  }
}

function openDatabase(database: string | Sql) {
  if (typeof database !== 'string') return { sql: database, ownPool: null }
  const ownPool = { url: database, ...openPool(database) }
  return { sql: ownPool.sql, ownPool }
}

/** Stores on the network serve their files themselves. */
function servesFiles(store: ObjectStore): store is FilesystemStore {
  return 'verify' in store && 'open' in store
}
