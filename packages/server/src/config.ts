import { resolve } from 'node:path'
import { LANES, type Lane } from '@holdfast/shared'
import type { JwtAuthOptions } from './auth/jwt-authenticate.ts'
import { PROVIDER_ENVIRONMENT, type ProviderSettings, readProviderSettings } from './provider-settings.ts'

/** What the environment says. Read once, here; nothing else looks at `process.env`. */
export interface Config {
  /** Null: use the embedded PostgreSQL. */
  databaseUrl: string | null
  host: string
  port: number
  logLevel: string | null
  corsOrigins: string[]
  /** Null: no token can be checked yet. */
  auth: JwtAuthOptions | null
  providers: ProviderSettings
  lock: { kind: 'advisory' | 'redis' | 'none' | null; databaseUrl: string | null; redisUrl: string | null }
  lanes: Lane[] | null
  tasksPerMinute: number | null
  metricsToken: string | null
  dataDir: string
  simulatorPort: number
  production: boolean
}

/** What `--help` says about the environment, beside the code that reads it. */
export const ENVIRONMENT: [name: string, meaning: string][] = [
  ['DATABASE_URL', 'PostgreSQL to use; without it an embedded one runs in HOLDFAST_DATA_DIR (dev only)'],
  ['HOLDFAST_DATA_DIR', 'where the embedded database keeps its data (.holdfast)'],
  ['PORT, HOST', 'where to listen (8787, 127.0.0.1)'],
  ['CORS_ORIGINS', 'origins whose pages may call the API, separated by commas (none)'],
  ['LOG_LEVEL', 'trace, debug, info, warn, error, fatal or silent (serve: info, dev: warn)'],
  ['SUPABASE_URL', 'check tokens by the public keys of this Supabase project'],
  ['SUPABASE_JWT_SECRET', 'check tokens by this HS256 secret'],
  ['JWKS_URL, JWT_SECRET', 'the same for any other issuer'],
  ['JWT_ISSUER, JWT_AUDIENCE', 'what iss and aud must be'],
  [
    'LOCK',
    'which replica works: advisory (PostgreSQL), redis, or none for all at once (serve: advisory, or redis with REDIS_URL)',
  ],
  ['LOCK_DATABASE_URL', 'a direct connection for the advisory lock, where DATABASE_URL is a pooler'],
  ['REDIS_URL', 'Redis for the lock'],
  ['LANES', 'lanes that this process serves, separated by commas (all)'],
  ['TASKS_PER_MINUTE', 'how many tasks a user may create in a minute (60)'],
  ['METRICS_TOKEN', 'lets its bearer read /metrics from elsewhere than this machine'],
  ...PROVIDER_ENVIRONMENT,
  ['SIMULATOR_PORT', 'where the simulator listens (8788)'],
]

export function readConfig(env: NodeJS.ProcessEnv): Config {
  return {
    databaseUrl: text(env.DATABASE_URL),
    host: text(env.HOST) ?? '127.0.0.1',
    port: port('PORT', env.PORT, 8787),
    logLevel: level(env.LOG_LEVEL),
    corsOrigins: (env.CORS_ORIGINS ?? '')
      .split(',')
      .map((origin) => origin.trim().replace(/\/$/, ''))
      .filter((origin) => origin !== ''),
    auth: readAuth(env),
    providers: readProviderSettings(env),
    lock: {
      kind: lockKind(env.LOCK),
      databaseUrl: text(env.LOCK_DATABASE_URL),
      redisUrl: text(env.REDIS_URL),
    },
    lanes: readLanes(env.LANES),
    tasksPerMinute: positive('TASKS_PER_MINUTE', env.TASKS_PER_MINUTE),
    metricsToken: text(env.METRICS_TOKEN),
    dataDir: resolve(text(env.HOLDFAST_DATA_DIR) ?? '.holdfast'),
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
  return {
    ...(secret ? { secret } : {}),
    ...(jwksUrl ? { jwksUrl } : {}),
    ...(issuer ? { issuer } : {}),
    ...(audience ? { audience } : {}),
  }
}

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']

function level(value: string | undefined): string | null {
  const name = text(value)
  if (name !== null && !LEVELS.includes(name))
    throw new Error(`LOG_LEVEL is "${name}"; it must be one of ${LEVELS.join(', ')}.`)
  return name
}

function text(value: string | undefined): string | null {
  return value === undefined || value.trim() === '' ? null : value.trim()
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

function lockKind(value: string | undefined): Config['lock']['kind'] {
  const kind = text(value)
  if (kind === null || kind === 'advisory' || kind === 'redis' || kind === 'none') return kind
  throw new Error(`LOCK is "${kind}"; it must be advisory, redis or none.`)
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

function positive(name: string, value: string | undefined): number | null {
  const given = text(value)
  if (given === null) return null
  const number = Number(given)
  if (!Number.isInteger(number) || number < 1)
    throw new Error(`${name} is "${given}"; it must be a whole number above 0.`)
  return number
}
