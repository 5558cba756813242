import { isAbsolute } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readConfig } from './config.ts'

const SECRET = 'a-secret-of-at-least-thirty-two-bytes'

describe('readConfig', () => {
  it('needs nothing: embedded database, loopback, no other origin', () => {
    expect(readConfig({})).toMatchObject({
      databaseUrl: null,
      host: '127.0.0.1',
      port: 8787,
      logLevel: null,
      corsOrigins: [],
      auth: null,
      production: false,
      simulatorPort: 8788,
      providers: { image: null, video: null, vendors: { kie: { apiKey: null, baseUrl: null } } },
      publicUrl: null,
      objects: { kind: 'filesystem', secret: null },
    })
    expect(isAbsolute(readConfig({}).dataDir)).toBe(true)
  })

  it('takes Redis for the lock only where that is said', () => {
    expect(readConfig({ REDIS_URL: 'redis://cache' })).toMatchObject({
      redisUrl: 'redis://cache',
      lock: null,
    })
    expect(readConfig({ REDIS_URL: 'redis://cache', LOCK: 'redis' })).toMatchObject({ lock: 'redis' })
  })

  it('refuses the name that DIRECT_URL had, without repeating what is secret in it', () => {
    const read = () => readConfig({ LOCK_DATABASE_URL: 'postgres://u:hidden@db/app' })
    expect(read).toThrow('LOCK_DATABASE_URL is called DIRECT_URL now: set that instead.')
    expect(readConfig({ DIRECT_URL: 'postgres://db/app' }).directUrl).toBe('postgres://db/app')
  })

  it('takes blank for not given', () => {
    expect(readConfig({ DATABASE_URL: ' ', PORT: '', KIE_API_KEY: '', LOG_LEVEL: '' })).toMatchObject({
      databaseUrl: null,
      port: 8787,
      providers: { vendors: { kie: { apiKey: null } } },
      logLevel: null,
    })
  })

  it('reads prices, and what users begin with', () => {
    expect(readConfig({}).credits).toBeNull()
    expect(readConfig({ CREDIT_PRICES: 'image=4, video = 20' }).credits).toEqual({
      initial: 0,
      prices: { image: 4, video: 20 },
    })
    expect(readConfig({ CREDIT_PRICES: 'image=4', CREDITS_INITIAL: '100' }).credits?.initial).toBe(100)
    expect(readConfig({ CREDITS_INITIAL: '100' }).credits).toEqual({ initial: 100, prices: null })
  })

  it.each([
    [{ CREDIT_PRICES: '4' }, /price of 4 in CREDIT_PRICES is ""/],
    [{ CREDIT_PRICES: '=4' }, /must look like image=4,video=20/],
    [{ CREDIT_PRICES: 'image=-1' }, /price of image in CREDIT_PRICES is "-1"/],
    [{ CREDIT_PRICES: 'image=4', CREDITS_INITIAL: '1.5' }, /CREDITS_INITIAL is "1.5"/],
  ])('refuses the prices %j', (env, problem) => {
    expect(() => readConfig(env)).toThrow(problem)
  })

  it('reads a list of origins, with or without slashes and blanks', () => {
    expect(readConfig({ CORS_ORIGINS: 'https://a.example/, https://b.example ,,' }).corsOrigins).toEqual([
      'https://a.example',
      'https://b.example',
    ])
  })

  it.each(['80a', '-1', '65536', '1.5'])('refuses the port %s and says which variable it was', (PORT) => {
    expect(() => readConfig({ PORT })).toThrow(/PORT is ".*"; it must be a port number/)
  })

  it('refuses a bus that there is not', () => {
    expect(readConfig({ BUS: 'redis' }).bus).toBe('redis')
    expect(() => readConfig({ BUS: 'kafka' })).toThrow(/BUS is "kafka"; it must be memory, postgres or redis/)
  })

  it('refuses a log level that there is not', () => {
    expect(() => readConfig({ LOG_LEVEL: 'loud' })).toThrow(/LOG_LEVEL is "loud"; it must be one of/)
  })

  it.each<[string, NodeJS.ProcessEnv, unknown]>([
    [
      'Supabase by its address',
      { SUPABASE_URL: 'https://p.supabase.co/' },
      {
        jwksUrl: 'https://p.supabase.co/auth/v1/.well-known/jwks.json',
        issuer: 'https://p.supabase.co/auth/v1',
        audience: 'authenticated',
      },
    ],
    [
      'Supabase by its secret',
      { SUPABASE_JWT_SECRET: SECRET },
      { secret: SECRET, audience: 'authenticated' },
    ],
    ['any secret', { JWT_SECRET: SECRET }, { secret: SECRET }],
    [
      'any issuer',
      { JWKS_URL: 'https://i.example/keys', JWT_ISSUER: 'https://i.example', JWT_AUDIENCE: 'us' },
      { jwksUrl: 'https://i.example/keys', issuer: 'https://i.example', audience: 'us' },
    ],
    [
      'an issuer whose tokens name no audience',
      { JWKS_URL: 'https://i.example/keys', JWT_ISSUER: 'https://i.example', JWT_AUDIENCE: 'none' },
      { jwksUrl: 'https://i.example/keys', issuer: 'https://i.example', audience: false },
    ],
    ['an issuer without keys', { JWT_ISSUER: 'https://i.example' }, null],
  ])('checks tokens by %s', (_, env, auth) => {
    expect(readConfig(env).auth).toEqual(auth)
  })

  it.each<[string, NodeJS.ProcessEnv, RegExp]>([
    ['keys alone', { JWKS_URL: 'https://i.example/keys' }, /JWT_ISSUER and JWT_AUDIENCE/],
    ['no audience', { JWKS_URL: 'https://i.example/keys', JWT_ISSUER: 'https://i.example' }, /JWT_AUDIENCE/],
    ['no issuer', { JWKS_URL: 'https://i.example/keys', JWT_AUDIENCE: 'us' }, /JWT_ISSUER/],
    ['a short secret', { JWT_SECRET: 'brief-but-mine' }, /JWT_SECRET .*32 bytes.*openssl rand/],
    ['a secret of one less', { JWT_SECRET: 'x'.repeat(31) }, /JWT_SECRET .*32 bytes/],
    [
      'a short secret of Supabase',
      { SUPABASE_JWT_SECRET: 'brief-but-mine' },
      /SUPABASE_JWT_SECRET .*32 bytes/,
    ],
  ])('refuses to check tokens by %s, and says what to set', (_, env, message) => {
    expect(() => readConfig(env)).toThrow(message)
    expect(() => readConfig(env)).not.toThrow('brief-but-mine')
  })

  it('reads which lanes the tasks of a plan go to, and says what is wrong with them', () => {
    expect(readConfig({}).routeByPlan).toBeNull()
    expect(readConfig({ ROUTE_BY_PLAN: 'gold=vip_long, pro=vip_short/vip_long' }).routeByPlan).toEqual({
      gold: 'vip_long',
      pro: { short: 'vip_short', long: 'vip_long' },
    })
    expect(() => readConfig({ ROUTE_BY_PLAN: 'pro=fast' })).toThrow(/^ROUTE_BY_PLAN: "pro=fast" is not/)
  })

  it('knows production', () => {
    expect(readConfig({ NODE_ENV: 'production' }).production).toBe(true)
  })

  it('knows where it is reached from outside', () => {
    expect(readConfig({ PUBLIC_URL: 'https://api.example.com/holdfast/' }).publicUrl).toBe(
      'https://api.example.com/holdfast',
    )
    expect(() => readConfig({ PUBLIC_URL: 'api.example.com' })).toThrow(
      /PUBLIC_URL is "api.example.com"; it must/,
    )
    expect(() => readConfig({ PUBLIC_URL: 'ftp://example.com' })).toThrow(
      /PUBLIC_URL is .* it must be an address/,
    )
  })

  const s3 = { S3_BUCKET: 'results', S3_ACCESS_KEY_ID: 'id', S3_SECRET_ACCESS_KEY: 'hidden-from-all' }
  const s3Settings = { kind: 's3', bucket: 'results', accessKeyId: 'id', secretAccessKey: 'hidden-from-all' }
  const supabase = {
    SUPABASE_URL: 'https://p.supabase.co/',
    SUPABASE_SERVICE_KEY: 'hidden-too',
    SUPABASE_BUCKET: 'b',
  }

  it.each<[string, NodeJS.ProcessEnv, unknown]>([
    [
      'a folder of the data directory',
      { HOLDFAST_DATA_DIR: '/data', FILES_SECRET: 'sixteen or more chars' },
      {
        kind: 'filesystem',
        directory: '/data/files',
        secret: 'sixteen or more chars',
        secretFile: '/data/files-secret',
      },
    ],
    ['a bucket at Amazon', { ...s3, S3_REGION: 'eu-west-1' }, { ...s3Settings, region: 'eu-west-1' }],
    [
      'a bucket elsewhere, in any region',
      { ...s3, S3_ENDPOINT: 'http://minio:9000/', S3_PUBLIC_ENDPOINT: 'https://files.example.com' },
      {
        ...s3Settings,
        region: 'us-east-1',
        endpoint: 'http://minio:9000',
        publicEndpoint: 'https://files.example.com',
      },
    ],
    [
      'a bucket elsewhere, all said',
      {
        ...s3,
        S3_ENDPOINT: 'https://oss-cn-hangzhou.aliyuncs.com',
        S3_REGION: 'cn-hangzhou',
        S3_FORCE_PATH_STYLE: 'False',
        S3_PREFIX: 'holdfast/',
      },
      {
        ...s3Settings,
        region: 'cn-hangzhou',
        endpoint: 'https://oss-cn-hangzhou.aliyuncs.com',
        forcePathStyle: false,
        prefix: 'holdfast/',
      },
    ],
    [
      'a bucket of Supabase',
      supabase,
      { kind: 'supabase', url: 'https://p.supabase.co', serviceKey: 'hidden-too', bucket: 'b' },
    ],
    ['a folder, though tokens are checked by Supabase', { SUPABASE_URL: 'https://p.supabase.co' }, null],
  ])('keeps results in %s', (_, env, objects) => {
    const read = readConfig(env).objects
    if (objects === null) expect(read.kind).toBe('filesystem')
    else expect(read).toEqual(objects)
  })

  it.each<[string, NodeJS.ProcessEnv, RegExp]>([
    [
      'S3 without keys',
      { S3_BUCKET: 'b', S3_REGION: 'r' },
      /also S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY must be set/,
    ],
    [
      'S3 without a bucket',
      { S3_ENDPOINT: 'http://minio:9000' },
      /With S3_ENDPOINT, also S3_BUCKET, .* must be set/,
    ],
    ['Amazon without a region', s3, /also S3_REGION must be set/],
    [
      'blank for a key',
      { ...s3, S3_REGION: 'r', S3_SECRET_ACCESS_KEY: ' ' },
      /also S3_SECRET_ACCESS_KEY must/,
    ],
    [
      'an endpoint that is none',
      { ...s3, S3_ENDPOINT: 'minio:9000' },
      /S3_ENDPOINT is "minio:9000"; it must be/,
    ],
    [
      'neither yes nor no',
      { ...s3, S3_ENDPOINT: 'http://m', S3_FORCE_PATH_STYLE: 'maybe' },
      /must be true or false/,
    ],
    ['Supabase without a bucket', { ...supabase, SUPABASE_BUCKET: '' }, /also SUPABASE_BUCKET must be set/],
    [
      'Supabase without a key',
      { ...supabase, SUPABASE_SERVICE_KEY: '' },
      /also SUPABASE_SERVICE_KEY must be set/,
    ],
    ['Supabase without a project', { ...supabase, SUPABASE_URL: '' }, /also SUPABASE_URL must be set/],
    ['two places', { ...s3, S3_REGION: 'r', ...supabase }, /S3_BUCKET.* ask for S3 and SUPABASE_SERVICE_KEY/],
    ['a short secret', { FILES_SECRET: 'brief' }, /FILES_SECRET is too short/],
  ])('refuses %s, says what to set, and quotes no secret', (_, env, message) => {
    expect(() => readConfig(env)).toThrow(message)
    for (const secret of [env.S3_SECRET_ACCESS_KEY, env.SUPABASE_SERVICE_KEY, env.FILES_SECRET]) {
      if (secret?.trim()) expect(() => readConfig(env)).not.toThrow(secret)
    }
  })

  it('takes the address of a chat for alerts, and does not repeat one that is wrong', () => {
    expect(readConfig({}).alertWebhookUrl).toBeNull()
    const url = 'https://hooks.slack.com/services/T/B/hush'
    expect(readConfig({ ALERT_WEBHOOK_URL: url }).alertWebhookUrl).toBe(url)
    for (const ALERT_WEBHOOK_URL of ['hush', 'ftp://hush.example/x']) {
      expect(() => readConfig({ ALERT_WEBHOOK_URL })).toThrow(/^ALERT_WEBHOOK_URL is not an address/)
      expect(() => readConfig({ ALERT_WEBHOOK_URL })).not.toThrow(/hush/)
    }
  })
})

describe('webhooks of the app', () => {
  const secret = `whsec_${Buffer.from('x'.repeat(32)).toString('base64')}`

  it('are none unless asked for', () => {
    expect(readConfig({}).webhooks).toEqual([])
  })

  it('go to one URL, with the events that were named', () => {
    const env = { WEBHOOK_URL: 'https://app.example.com/hooks', WEBHOOK_SECRET: secret }
    expect(readConfig(env).webhooks).toEqual([{ name: 'app', url: env.WEBHOOK_URL, secret }])
    expect(readConfig({ ...env, WEBHOOK_EVENTS: 'task.completed, task.failed' }).webhooks).toMatchObject([
      { events: ['task.completed', 'task.failed'] },
    ])
  })

  it.each([
    [{ WEBHOOK_URL: 'https://app.example.com' }, 'go together'],
    [{ WEBHOOK_SECRET: secret }, 'go together'],
    [{ WEBHOOK_URL: 'app', WEBHOOK_SECRET: secret }, 'http or https'],
    [{ WEBHOOK_URL: 'https://app.example.com', WEBHOOK_SECRET: 'secret' }, 'whsec_'],
    [{ WEBHOOK_URL: 'https://a.example', WEBHOOK_SECRET: secret, WEBHOOK_EVENTS: 'done' }, 'is no event'],
  ])('half a setting is refused: %j', (env, message) => {
    expect(() => readConfig(env)).toThrow(message)
  })
})
