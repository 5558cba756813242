import { join } from 'node:path'

/** Where result files are kept, as the environment says it. */
export type ObjectSettings =
  | {
      kind: 'filesystem'
      directory: string
      /** Null: one is made, and kept in `secretFile`. */
      secret: string | null
      secretFile: string
    }
  | {
      kind: 's3'
      bucket: string
      region: string
      accessKeyId: string
      secretAccessKey: string
      endpoint?: string
      publicEndpoint?: string
      forcePathStyle?: boolean
      prefix?: string
    }
  | { kind: 'supabase'; url: string; serviceKey: string; bucket: string }

const S3_NAMES = [
  'S3_BUCKET',
  'S3_ENDPOINT',
  'S3_REGION',
  'S3_ACCESS_KEY_ID',
  'S3_SECRET_ACCESS_KEY',
  'S3_FORCE_PATH_STYLE',
  'S3_PUBLIC_ENDPOINT',
  'S3_PREFIX',
]
const SUPABASE_NAMES = ['SUPABASE_SERVICE_KEY', 'SUPABASE_BUCKET']
/** As many as the store itself asks for. */
const SHORTEST_SECRET = 16

/** S3 or Supabase where their settings are there, else a folder. Half of the settings of one is an error. */
export function readObjectSettings(env: NodeJS.ProcessEnv, dataDir: string): ObjectSettings {
  const given = (names: string[]) => names.filter((name) => text(env[name]) !== undefined)
  const [s3, supabase] = [given(S3_NAMES), given(SUPABASE_NAMES)]
  if (s3.length > 0 && supabase.length > 0) {
    throw new Error(
      `Results are kept in one place, but ${s3.join(', ')} ask for S3 and ${supabase.join(', ')} for Supabase. Remove the ones or the others.`,
    )
  }
  if (s3.length > 0) return readS3(env, s3)
  if (supabase.length > 0) return readSupabase(env, supabase)
  const secret = text(env.FILES_SECRET) ?? null
  if (secret !== null && secret.length < SHORTEST_SECRET) {
    throw new Error(`FILES_SECRET is too short; it needs ${SHORTEST_SECRET} characters or more.`)
  }
  const directory = join(dataDir, 'files')
  return { kind: 'filesystem', directory, secret, secretFile: join(dataDir, 'files-secret') }
}

function readS3(env: NodeJS.ProcessEnv, given: string[]): ObjectSettings {
  const endpoint = readAddress(env, 'S3_ENDPOINT')
  const publicEndpoint = readAddress(env, 'S3_PUBLIC_ENDPOINT')
  const forcePathStyle = yesOrNo(env, 'S3_FORCE_PATH_STYLE')
  const prefix = text(env.S3_PREFIX)
  const needed = {
    bucket: 'S3_BUCKET',
    accessKeyId: 'S3_ACCESS_KEY_ID',
    secretAccessKey: 'S3_SECRET_ACCESS_KEY',
  }
  // Elsewhere than at Amazon the region seldom means anything, but has to be signed.
  const anyRegion = endpoint && !text(env.S3_REGION)
  return {
    kind: 's3',
    ...(anyRegion
      ? { ...readAll(env, needed, given), region: 'us-east-1' }
      : readAll(env, { ...needed, region: 'S3_REGION' }, given)),
    ...(endpoint ? { endpoint } : {}),
    ...(publicEndpoint ? { publicEndpoint } : {}),
    ...(forcePathStyle === undefined ? {} : { forcePathStyle }),
    ...(prefix ? { prefix } : {}),
  }
}

function readSupabase(env: NodeJS.ProcessEnv, given: string[]): ObjectSettings {
  const needed = { serviceKey: 'SUPABASE_SERVICE_KEY', bucket: 'SUPABASE_BUCKET', url: 'SUPABASE_URL' }
  const settings = readAll(env, needed, given)
  return { kind: 'supabase', ...settings, url: readAddress(env, 'SUPABASE_URL') ?? settings.url }
}

function readAll<Names extends Record<string, string>>(
  env: NodeJS.ProcessEnv,
  names: Names,
  given: string[],
): Record<keyof Names, string> {
  const missing = Object.values(names).filter((name) => text(env[name]) === undefined)
  if (missing.length > 0) {
    throw new Error(`With ${given.join(', ')}, also ${missing.join(', ')} must be set.`)
  }
  const entries = Object.entries(names).map(([key, name]) => [key, text(env[name]) ?? ''])
  return Object.fromEntries(entries)
}

/** An http(s) address, without a slash at its end. */
export function readAddress(env: NodeJS.ProcessEnv, name: string): string | undefined {
  const given = text(env[name])
  if (given === undefined) return undefined
  const parsed = URL.canParse(given) ? new URL(given) : null
  if (parsed?.protocol === 'https:' || parsed?.protocol === 'http:') return given.replace(/\/+$/, '')
  throw new Error(`${name} is "${given}"; it must be an address such as https://storage.example.com.`)
}

function yesOrNo(env: NodeJS.ProcessEnv, name: string): boolean | undefined {
  const given = text(env[name])?.toLowerCase()
  if (given === undefined) return undefined
  if (given === 'true' || given === '1') return true
  if (given === 'false' || given === '0') return false
  throw new Error(`${name} is "${given}"; it must be true or false.`)
}

function text(value: string | undefined): string | undefined {
  return value === undefined || value.trim() === '' ? undefined : value.trim()
}
