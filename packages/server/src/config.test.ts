import { isAbsolute } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readConfig } from './config.ts'

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
    })
    expect(isAbsolute(readConfig({}).dataDir)).toBe(true)
  })

  it('takes blank for not given', () => {
    expect(readConfig({ DATABASE_URL: ' ', PORT: '', KIE_API_KEY: '', LOG_LEVEL: '' })).toMatchObject({
      databaseUrl: null,
      port: 8787,
      providers: { vendors: { kie: { apiKey: null } } },
      logLevel: null,
    })
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
      { SUPABASE_JWT_SECRET: 'secret' },
      { secret: 'secret', audience: 'authenticated' },
    ],
    ['any secret', { JWT_SECRET: 'secret' }, { secret: 'secret' }],
    [
      'any issuer',
      { JWKS_URL: 'https://i.example/keys', JWT_ISSUER: 'https://i.example', JWT_AUDIENCE: 'us' },
      { jwksUrl: 'https://i.example/keys', issuer: 'https://i.example', audience: 'us' },
    ],
    ['an issuer without keys', { JWT_ISSUER: 'https://i.example' }, null],
  ])('checks tokens by %s', (_, env, auth) => {
    expect(readConfig(env).auth).toEqual(auth)
  })

  it('knows production', () => {
    expect(readConfig({ NODE_ENV: 'production' }).production).toBe(true)
  })
})
