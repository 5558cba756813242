import { resolve } from 'node:path'
import { LANES, type Lane } from '@holdfast/shared'
import { checkJwtAuth, type JwtAuthOptions } from './auth/jwt-authenticate.ts'
import { CREDIT_ENVIRONMENT, type CreditSettings, readCreditSettings } from './credit-settings.ts'
import { type ObjectSettings, readAddress, readObjectSettings } from './objects/object-settings.ts'
import { PROVIDER_ENVIRONMENT, type ProviderSettings, readProviderSettings } from './provider-settings.ts'
import { parseRouteByPlan, type RouteByPlan } from './tasks/route-by-plan.ts'
import { checkEndpoints, type TaskEvent, type WebhookEndpoint } from './work/deliver/endpoint.ts'

/** What the environment says. Read once, here; nothing else looks at `process.env`. */
export interface Config {
  /** Null: use the embedded PostgreSQL. */
  databaseUrl: string | null
  /** The same database without a transaction pooler in between: for the lock, the bus and migrations. */
  directUrl: string | null
  redisUrl: string | null
  host: string
  port: number
  logLevel: string | null
  /** Null: readable in development and at a terminal, else JSON. */
  logFormat: 'pretty' | 'json' | null
  corsOrigins: string[]
  /** Where browsers and providers reach this server, without a slash at the end. Null: where it listens. */
  publicUrl: string | null
  /** Where result files are kept. */
  objects: ObjectSettings
  mirror: { maxBytes: number | null; concurrency: number | null }
  /** Null: no token can be checked yet. */
  auth: JwtAuthOptions | null
  providers: ProviderSettings
  /** Which replica works. Null: what the command takes by default. */
  lock: 'advisory' | 'redis' | 'none' | null
  /** How replicas tell each other of changes. Null: by what there is. */
  bus: 'memory' | 'postgres' | 'redis' | null
  streamsPerUser: number | null
  lanes: Lane[] | null
  /** Null: the usual lanes of each plan. */
  routeByPlan: RouteByPlan | null
  tasksPerMinute: number | null
  unfinishedTasks: number | null
  requestsPerMinute: { user: number | null; address: number | null }
  trustProxy: number | null
  /** Null: nothing is charged. */
  credits: CreditSettings | null
  metricsToken: string | null
  /** A secret, as much as a key is. */
  alertWebhookUrl: string | null
  serviceKeys: string[]
  webhooks: WebhookEndpoint[]
  dataDir: string
  simulatorPort: number
  production: boolean
}

/** What `--help` says about the environment, beside the code that reads it. */
export const ENVIRONMENT: [name: string, meaning: string][] = [
  ['DATABASE_URL', 'PostgreSQL to use; without it an embedded one runs in HOLDFAST_DATA_DIR (dev only)'],
  [
    'DIRECT_URL',
    'the same PostgreSQL without a pooler, for lock, bus and migrations, where DATABASE_URL is a pooler in transaction mode',
  ],
  ['HOLDFAST_DATA_DIR', 'where the embedded database and result files are kept (.holdfast)'],
  ['PORT, HOST', 'where to listen (8787, 127.0.0.1); in a container HOST must be 0.0.0.0'],
  [
    'PUBLIC_URL',
    'where browsers and providers reach this server; with it, providers call back when they are done',
  ],
  ['CORS_ORIGINS', 'origins whose pages may call the API, separated by commas (none)'],
  ['LOG_LEVEL', 'trace, debug, info, warn, error, fatal or silent (serve: info, dev: warn)'],
  ['LOG_FORMAT', 'pretty or json (pretty in dev and at a terminal, else json)'],
  ['SUPABASE_URL', 'check tokens by the public keys of this Supabase project'],
  ['SUPABASE_JWT_SECRET', 'check tokens by this HS256 secret'],
  ['JWKS_URL, JWT_SECRET', 'the same for any other issuer; a secret has 32 bytes or more'],
  [
    'JWT_ISSUER, JWT_AUDIENCE',
    'what iss and aud must be; needed with JWKS_URL (audience none: tokens name none)',
  ],
  [
    'LOCK',
    'which replica works: advisory (PostgreSQL), redis, or none for all at once (serve: advisory, dev: none)',
  ],
  [
    'BUS',
    'how replicas tell each other of changes: postgres (LISTEN/NOTIFY), redis, or memory for a single one (serve: postgres, or redis with REDIS_URL; dev: memory)',
  ],
  ['REDIS_URL', 'Redis for the bus and the progress of running tasks, and for the lock with LOCK=redis'],
  ['STREAMS_PER_USER', 'how many streams a user may have open at one process (20)'],
  ['LANES', 'lanes that this process serves, separated by commas (all)'],
  [
    'ROUTE_BY_PLAN',
    'lanes of each plan, such as enterprise=enterprise_exclusive,pro=vip_short/vip_long for short and long tasks (those, for every plan but free)',
  ],
  ['TASKS_PER_MINUTE', 'how many tasks a user may create in a minute (60)'],
  ['TASKS_UNFINISHED', 'how many tasks of a user may be unfinished at a time (100)'],
  ['REQUESTS_PER_MINUTE', 'how many requests a minute each process takes of one user (600)'],
  ['REQUESTS_PER_MINUTE_ANONYMOUS', 'and of one address without a good token (60)'],
  ['TRUST_PROXY', 'how many proxies stand in front and write X-Forwarded-For (0: it is not believed)'],
  ...CREDIT_ENVIRONMENT,
  [
    'WEBHOOK_URL, WEBHOOK_SECRET',
    'tell this URL of yours what happens to tasks, signed with this secret (whsec_ and base64)',
  ],
  ['WEBHOOK_EVENTS', 'which events, separated by commas (all but task.progress)'],
  ['SERVICE_KEYS', 'keys with which your own backend acts for its users, separated by commas (none)'],
  [
    'ALERT_WEBHOOK_URL',
    'incoming webhook of a Slack or DingTalk chat that is told of what needs an operator (none: the log only)',
  ],
  ['METRICS_TOKEN', 'lets its bearer read /metrics from elsewhere than this machine'],
  [
    'S3_BUCKET',
    'keep result files in this bucket of S3, R2, MinIO, OSS …; without it, in HOLDFAST_DATA_DIR/files',
  ],
  ['S3_ACCESS_KEY_ID', 'whose bucket it is'],
  ['S3_SECRET_ACCESS_KEY', 'and the secret to it'],
  ['S3_ENDPOINT, S3_REGION', 'where it is: the endpoint unless at Amazon, the region there'],
  ['S3_PUBLIC_ENDPOINT', 'where browsers reach it, if elsewhere'],
  ['S3_FORCE_PATH_STYLE', 'endpoint/bucket (true with S3_ENDPOINT) or bucket.endpoint (false)'],
  ['S3_PREFIX', 'what all keys in the bucket begin with (nothing)'],
  ['SUPABASE_BUCKET', 'keep result files in this bucket of the project at SUPABASE_URL'],
  ['SUPABASE_SERVICE_KEY', 'the service key of that project'],
  ['FILES_SECRET', 'signs the URLs of files in HOLDFAST_DATA_DIR; without it one is made and kept there'],
  ['MIRROR_MAX_BYTES', 'result files larger than this are not copied (2147483648)'],
  ['MIRROR_CONCURRENCY', 'how many result files this process copies at once (8)'],
  ...PROVIDER_ENVIRONMENT,
  ['SIMULATOR_PORT', 'where the simulator listens (8788)'],
]

export function readConfig(env: NodeJS.ProcessEnv): Config {
  const dataDir = resolve(text(env.HOLDFAST_DATA_DIR) ?? '.holdfast')
  return {
    databaseUrl: text(env.DATABASE_URL),
    directUrl: readDirectUrl(env),
    redisUrl: text(env.REDIS_URL),
    host: text(env.HOST) ?? '127.0.0.1',
    port: port('PORT', env.PORT, 8787),
    logLevel: level(env.LOG_LEVEL),
    logFormat: logFormat(env.LOG_FORMAT),
    corsOrigins: list(env.CORS_ORIGINS).map((origin) => origin.replace(/\/$/, '')),
    publicUrl: readAddress(env, 'PUBLIC_URL') ?? null,
    objects: readObjectSettings(env, dataDir),
    mirror: {
      maxBytes: positive('MIRROR_MAX_BYTES', env.MIRROR_MAX_BYTES),
      concurrency: positive('MIRROR_CONCURRENCY', env.MIRROR_CONCURRENCY),
    },
    auth: readAuth(env),
    providers: readProviderSettings(env),
    lock: lockKind(env.LOCK),
    bus: busKind(env.BUS),
    streamsPerUser: positive('STREAMS_PER_USER', env.STREAMS_PER_USER),
    lanes: readLanes(env.LANES),
    routeByPlan: readRoute(env.ROUTE_BY_PLAN),
    tasksPerMinute: positive('TASKS_PER_MINUTE', env.TASKS_PER_MINUTE),
    unfinishedTasks: positive('TASKS_UNFINISHED', env.TASKS_UNFINISHED),
    requestsPerMinute: {
      user: positive('REQUESTS_PER_MINUTE', env.REQUESTS_PER_MINUTE),
      address: positive('REQUESTS_PER_MINUTE_ANONYMOUS', env.REQUESTS_PER_MINUTE_ANONYMOUS),
    },
    trustProxy: hops('TRUST_PROXY', env.TRUST_PROXY),
    credits: readCreditSettings(env),
    metricsToken: text(env.METRICS_TOKEN),
    alertWebhookUrl: webAddress('ALERT_WEBHOOK_URL', env.ALERT_WEBHOOK_URL),
    serviceKeys: list(env.SERVICE_KEYS),
    webhooks: readWebhooks(env),
    dataDir,
    simulatorPort: port('SIMULATOR_PORT', env.SIMULATOR_PORT, 8788),
    production: env.NODE_ENV === 'production',
  }
}

function readAuth(env: NodeJS.ProcessEnv): JwtAuthOptions | null {
  const supabase = text(env.SUPABASE_URL)?.replace(/\/$/, '')
  const secret = text(env.SUPABASE_JWT_SECRET) ?? text(env.JWT_SECRET)
  const jwksUrl = text(env.JWKS_URL) ?? (supabase ? `${supabase}/auth/v1/.well-known/jwks.json` : null)
  if (!secret && !jwksUrl) return null
  const issuer = text(env.JWT_ISSUER) ?? (supabase ? `${supabase}/auth/v1` : null)
  const audience = text(env.JWT_AUDIENCE) ?? (supabase || env.SUPABASE_JWT_SECRET ? 'authenticated' : null)
  const auth: JwtAuthOptions = {
    ...(secret ? { secret } : {}),
    ...(jwksUrl ? { jwksUrl } : {}),
    ...(issuer ? { issuer } : {}),
    ...(audience ? { audience: audience === 'none' ? false : audience } : {}),
  }
  checkJwtAuth(auth, {
    secret: text(env.SUPABASE_JWT_SECRET) ? 'SUPABASE_JWT_SECRET' : 'JWT_SECRET',
    issuer: 'JWT_ISSUER',
    audience: 'JWT_AUDIENCE (or "none", if its tokens name no audience)',
  })
  return auth
}

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']

function level(value: string | undefined): string | null {
  const name = text(value)
  if (name !== null && !LEVELS.includes(name))
    throw new Error(`LOG_LEVEL is "${name}"; it must be one of ${LEVELS.join(', ')}.`)
  return name
}

function logFormat(value: string | undefined): Config['logFormat'] {
  const format = text(value)
  if (format === null || format === 'pretty' || format === 'json') return format
  throw new Error(`LOG_FORMAT is "${format}"; it must be pretty or json.`)
}

function readWebhooks(env: NodeJS.ProcessEnv): WebhookEndpoint[] {
  const url = text(env.WEBHOOK_URL)
  const secret = text(env.WEBHOOK_SECRET)
  const events = list(env.WEBHOOK_EVENTS)
  if (url === null && secret === null && events.length === 0) return []
  if (url === null || secret === null) {
    throw new Error('WEBHOOK_URL and WEBHOOK_SECRET go together: give both, or neither.')
  }
  const endpoint: WebhookEndpoint = { name: 'app', url, secret }
  const webhooks = [events.length > 0 ? { ...endpoint, events: events as readonly TaskEvent[] } : endpoint]
  checkEndpoints(webhooks)
  return webhooks
}

function list(value: string | undefined): string[] {
  return (value ?? '')
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')
}

function text(value: string | undefined): string | null {
  return value === undefined || value.trim() === '' ? null : value.trim()
}

/** Not named in the error: whoever has the address of a webhook can write there. */
function webAddress(name: string, value: string | undefined): string | null {
  const given = text(value)
  if (given === null) return null
  const protocol = URL.canParse(given) ? new URL(given).protocol : ''
  if (protocol !== 'https:' && protocol !== 'http:')
    throw new Error(`${name} is not an address that begins with https:// or http://.`)
  return given
}

function port(name: string, value: string | undefined, otherwise: number): number {
  const given = text(value)
  if (given === null) return otherwise
  const number = Number(given)
  if (!Number.isInteger(number) || number < 0 || number > 65_535) {
    throw new Error(`${name} is "${given}"; it must be a port number from 0 to 65535.`)
  }
  return number
}

function readDirectUrl(env: NodeJS.ProcessEnv): string | null {
  if (text(env.LOCK_DATABASE_URL) !== null)
    throw new Error('LOCK_DATABASE_URL is called DIRECT_URL now: set that instead.')
  return text(env.DIRECT_URL)
}

function lockKind(value: string | undefined): Config['lock'] {
  const kind = text(value)
  if (kind === null || kind === 'advisory' || kind === 'redis' || kind === 'none') return kind
  throw new Error(`LOCK is "${kind}"; it must be advisory, redis or none.`)
}

function busKind(value: string | undefined): Config['bus'] {
  const kind = text(value)
  if (kind === null || kind === 'memory' || kind === 'postgres' || kind === 'redis') return kind
  throw new Error(`BUS is "${kind}"; it must be memory, postgres or redis.`)
}

function readLanes(value: string | undefined): Lane[] | null {
  const names = text(value)
    ?.split(',')
    .map((name) => name.trim())
  if (!names) return null
  const known = names.filter((name): name is Lane => LANES.some((lane) => lane === name))
  if (known.length < names.length) throw new Error(`LANES is "${value}"; the lanes are ${LANES.join(', ')}.`)
  return known
}

function readRoute(value: string | undefined): RouteByPlan | null {
  const given = text(value)
  if (given === null) return null
  try {
    return parseRouteByPlan(given)
  } catch (error) {
    throw new Error(`ROUTE_BY_PLAN: ${error instanceof Error ? error.message : error}`, { cause: error })
  }
}

function hops(name: string, value: string | undefined): number | null {
  const given = text(value)
  if (given === null) return null
  if (!/^\d$/.test(given)) {
    throw new Error(`${name} is "${given}"; it must be the number of proxies in front, 0 to 9.`)
  }
  return Number(given)
}

function positive(name: string, value: string | undefined): number | null {
  const given = text(value)
  if (given === null) return null
  const number = Number(given)
  if (!Number.isInteger(number) || number < 1)
    throw new Error(`${name} is "${given}"; it must be a whole number above 0.`)
  return number
}
