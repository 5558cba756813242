import { describe, expect, it } from 'vitest'
import { scrubSecrets } from './scrub-secrets.ts'

describe('scrubSecrets (F15)', () => {
  it.each([
    'api_key',
    'apiKey',
    'API-KEY',
    'x-api-key',
    'access_token',
    'accessToken',
    'password',
    'Password',
    'authorization',
    'client_secret',
    'refresh_token',
    'token',
    'cookie',
    'openai_api_key',
    'kieApiKey',
    'db_password',
    'webhook_secret',
    'github_access_token',
    'aws_secret_access_key',
    'AWS_ACCESS_KEY_ID',
    'ssh-private-key',
    'x-auth-token',
    'user.password',
  ])('drops %s at any depth', (name) => {
    expect(scrubSecrets({ keep: 1, [name]: 'hush', deep: [{ [name]: { more: 'hush' }, keep: 2 }] })).toEqual({
      keep: 1,
      deep: [{ keep: 2 }],
    })
  })

  it.each([
    'prompt',
    'max_tokens',
    'tokens',
    'token_count',
    'keyframes',
    'key',
    'author',
    'password_hint_style',
    'secretary',
    'authority',
    'cookies_and_cream',
  ])('keeps %s', (name) => {
    expect(scrubSecrets({ [name]: 1 })).toEqual({ [name]: 1 })
  })

  it('keeps everything else as it is and does not touch its argument', () => {
    const params = { prompt: 'token', n: 0, off: false, nothing: null, list: [1, [2]], api_key: 'hush' }
    expect(scrubSecrets(params)).toEqual({
      prompt: 'token',
      n: 0,
      off: false,
      nothing: null,
      list: [1, [2]],
    })
    expect(params.api_key).toBe('hush')
  })
})
