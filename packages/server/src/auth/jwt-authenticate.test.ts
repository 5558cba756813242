import { createServer, type Server } from 'node:http'
import { exportJWK, exportSPKI, generateKeyPair, type JWK, type JWTPayload, SignJWT } from 'jose'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { signToken, TEST_AUDIENCE, TEST_ISSUER, TEST_SECRET, testAuth } from '../../test/test-tokens.ts'
import { createDevLogin } from './dev-login.ts'
import { createJwtAuthenticate } from './jwt-authenticate.ts'
import { rememberTokens } from './remember-tokens.ts'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  vi.useRealTimers()
  for (const close of closing.splice(0)) await close()
})

const seconds = () => Math.floor(Date.now() / 1000)
const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
const claims = () => ({ sub: 'ada', iss: TEST_ISSUER, aud: TEST_AUDIENCE, exp: seconds() + 3600 })
const invalid = { code: 'TOKEN_INVALID' }

describe('tokens signed with a secret (S2)', () => {
  const authenticate = createJwtAuthenticate(testAuth)

  it('name a user and when they end', async () => {
    const exp = seconds() + 60
    expect(await authenticate(await signToken('auth0|5f', { exp }))).toEqual({
      userId: 'auth0|5f',
      expiresAt: new Date(exp * 1000),
      admin: false,
      plan: null,
    })
  })

  it('name the plan of the user, as the issuer wrote it', async () => {
    const planOf = async (claims: Record<string, unknown>) =>
      (await authenticate(await signToken('ada', claims))).plan
    expect(await planOf({ app_metadata: { plan: 'pro' } })).toBe('pro')
    for (const claims of [
      { plan: 'pro' },
      { user_metadata: { plan: 'pro' } },
      { app_metadata: { plan: 3 } },
    ]) {
      expect(await planOf(claims)).toBeNull()
    }
  })

  it('make an administrator only by what the issuer wrote (E7)', async () => {
    expect(await authenticate(await signToken('ada', { app_metadata: { role: 'admin' } }))).toMatchObject({
      admin: true,
    })
    for (const claims of [
      { role: 'admin' },
      { user_metadata: { role: 'admin' } },
      { app_metadata: 'admin' },
      { app_metadata: null },
    ]) {
      expect(await authenticate(await signToken('ada', claims))).toMatchObject({ admin: false })
    }
  })

  it.each<[string, JWTPayload]>([
    ['another issuer', { iss: 'https://evil.example' }],
    ['no issuer', { iss: undefined }],
    ['another audience', { aud: 'anon' }],
    ['no audience', { aud: undefined }],
    ['no subject', { sub: undefined }],
    ['an empty subject', { sub: '' }],
    ['a subject with U+0000', { sub: 'a\u0000' }],
    ['a subject that is half a character', { sub: '\ud800' }],
    ['a subject that is too long', { sub: 'x'.repeat(201) }],
    ['no end', { exp: undefined }],
    ['a beginning in the future', { nbf: seconds() + 600 }],
  ])('are refused with %s', async (_, changes) => {
    await expect(authenticate(await signToken('ada', changes))).rejects.toMatchObject(invalid)
  })

  it('are expired when they are, give or take a few seconds', async () => {
    await expect(authenticate(await signToken('ada', { exp: seconds() - 10 }))).rejects.toMatchObject({
      code: 'TOKEN_EXPIRED',
    })
    await expect(authenticate(await signToken('ada', { exp: seconds() - 2 }))).resolves.toMatchObject({
      userId: 'ada',
    })
  })

  it('say nothing of their end when the signature is wrong', async () => {
    const token = await signToken('ada', { exp: seconds() - 10 }, 'another-secret-of-at-least-32-characters')
    await expect(authenticate(token)).rejects.toMatchObject(invalid)
  })

  it('are refused when they are not signed at all (alg: none)', async () => {
    for (const alg of ['none', 'None', 'NONE', undefined, null, 5]) {
      const header = encode({ alg, typ: 'JWT' })
      await expect(authenticate(`${header}.${encode(claims())}.`)).rejects.toMatchObject(invalid)
      await expect(authenticate(`${header}.${encode(claims())}.AAAA`)).rejects.toMatchObject(invalid)
    }
  })

  it('are refused with their content changed', async () => {
    const [header, , signature] = (await signToken('ada')).split('.')
    await expect(
      authenticate(`${header}.${encode({ ...claims(), sub: 'bob' })}.${signature}`),
    ).rejects.toMatchObject(invalid)
  })

  it('are refused by another algorithm, even with the same secret', async () => {
    const token = await new SignJWT(claims())
      .setProtectedHeader({ alg: 'HS512' })
      .sign(new TextEncoder().encode(TEST_SECRET.repeat(2)))
    await expect(authenticate(token)).rejects.toMatchObject(invalid)
  })

  it.each(['', 'x', 'a.b.c', '..', `${encode({ alg: 'HS256' })}..`, 'x'.repeat(20_000), 'é.é.é'])(
    'are refused when they are none: %#',
    async (token) => {
      await expect(authenticate(token)).rejects.toMatchObject(invalid)
    },
  )

  it.each([
    ['a short secret', { secret: 'x'.repeat(31) }, /auth.secret .*32 bytes/],
    ['keys alone', { jwksUrl: 'https://i.example/keys' }, /auth.issuer and auth.audience/],
    ['keys without an audience', { jwksUrl: 'https://i.example/keys', issuer: TEST_ISSUER }, /auth.audience/],
    ['keys without an issuer', { jwksUrl: 'https://i.example/keys', audience: 'us' }, /auth.issuer/],
  ])('are not checked by %s', (_, options, message) => {
    expect(() => createJwtAuthenticate(options)).toThrow(message)
  })

  it('are counted in bytes: 32 are enough', () => {
    expect(() => createJwtAuthenticate({ secret: 'ä'.repeat(16) })).not.toThrow()
  })

  it('cannot be checked with nothing to check them by', () => {
    expect(() => createJwtAuthenticate({ issuer: TEST_ISSUER })).toThrow(/auth.secret .* auth.jwksUrl/)
  })
})

async function startIssuer() {
  let keys: JWK[] = []
  let answer: { status: number; body?: string } = { status: 200 }
  let asked = 0
  const server: Server = createServer((_, response) => {
    asked += 1
    response.writeHead(answer.status, { 'content-type': 'application/json' })
    response.end(answer.body ?? JSON.stringify({ keys }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  closing.push(close)

  return {
    jwksUrl: `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}/jwks.json`,
    close,
    asked: () => asked,
    answerWith(status: number, body?: string) {
      answer = body === undefined ? { status } : { status, body }
    },
    /** Publishes a new key, and returns how to sign with it. */
    async publish(kid: string, { keepOthers = false } = {}) {
      const pair = await generateKeyPair('ES256', { extractable: true })
      keys = [
        ...(keepOthers ? keys : []),
        { ...(await exportJWK(pair.publicKey)), kid, alg: 'ES256', use: 'sig' },
      ]
      return {
        publicKey: pair.publicKey,
        sign: (changes: JWTPayload = {}) =>
          new SignJWT({ ...claims(), ...changes })
            .setProtectedHeader({ alg: 'ES256', kid })
            .sign(pair.privateKey),
      }
    },
  }
}

describe('tokens signed with an issuer’s key (S2)', () => {
  const issuedBy = (issuer: { jwksUrl: string }, more = {}) =>
    createJwtAuthenticate({ jwksUrl: issuer.jwksUrl, issuer: TEST_ISSUER, audience: TEST_AUDIENCE, ...more })

  it('are checked by the published keys, which are fetched once', async () => {
    const issuer = await startIssuer()
    const key = await issuer.publish('one')
    const authenticate = issuedBy(issuer)
    for (const sub of ['ada', 'bob'])
      expect(await authenticate(await key.sign({ sub }))).toMatchObject({ userId: sub })
    expect(issuer.asked()).toBe(1)
    await expect(authenticate(await key.sign({ exp: seconds() - 10 }))).rejects.toMatchObject({
      code: 'TOKEN_EXPIRED',
    })
    await expect(authenticate(await key.sign({ iss: 'https://evil.example' }))).rejects.toMatchObject(invalid)
  })

  it('are refused when signed with the public key as if it were a secret', async () => {
    const issuer = await startIssuer()
    const key = await issuer.publish('one')
    const secrets = [await exportSPKI(key.publicKey), JSON.stringify(await exportJWK(key.publicKey))]
    for (const authenticate of [issuedBy(issuer), issuedBy(issuer, { secret: TEST_SECRET })])
      for (const secret of secrets) {
        const token = await new SignJWT(claims())
          .setProtectedHeader({ alg: 'HS256', kid: 'one' })
          .sign(new TextEncoder().encode(secret))
        await expect(authenticate(token)).rejects.toMatchObject(invalid)
      }
  })

  it('are refused unsigned, and with a key of the sender’s own in the header', async () => {
    const issuer = await startIssuer()
    await issuer.publish('one')
    const authenticate = issuedBy(issuer)
    await expect(
      authenticate(`${encode({ alg: 'none', kid: 'one' })}.${encode(claims())}.`),
    ).rejects.toMatchObject(invalid)
    const own = await generateKeyPair('ES256', { extractable: true })
    const token = await new SignJWT(claims())
      .setProtectedHeader({ alg: 'ES256', kid: 'one', jwk: await exportJWK(own.publicKey) })
      .sign(own.privateKey)
    await expect(authenticate(token)).rejects.toMatchObject(invalid)
  })

  it('may be signed with either where both are set up', async () => {
    const issuer = await startIssuer()
    const key = await issuer.publish('one')
    const authenticate = issuedBy(issuer, { secret: TEST_SECRET })
    expect(await authenticate(await key.sign())).toMatchObject({ userId: 'ada' })
    expect(await authenticate(await signToken('bob'))).toMatchObject({ userId: 'bob' })
  })

  it('follow a rotation of keys: the new one is fetched, the old one is out', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const issuer = await startIssuer()
    const old = await issuer.publish('old')
    const authenticate = issuedBy(issuer)
    await authenticate(await old.sign())
    const fresh = await issuer.publish('new')
    // Not asked again within seconds: tokens with made-up key ids must not make us a flood.
    await expect(authenticate(await fresh.sign())).rejects.toMatchObject(invalid)
    expect(issuer.asked()).toBe(1)
    vi.setSystemTime(Date.now() + 31_000)
    expect(await authenticate(await fresh.sign())).toMatchObject({ userId: 'ada' })
    await expect(authenticate(await old.sign())).rejects.toMatchObject(invalid)
  })

  it('are refused eleven minutes after their key was withdrawn, though they are remembered and nobody brings a new one', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const issuer = await startIssuer()
    const old = await issuer.publish('old')
    const authenticate = rememberTokens(issuedBy(issuer))
    const token = await old.sign({ exp: seconds() + 3_600 })
    await authenticate(token)
    await issuer.publish('new')
    // The keys are asked for again after ten minutes, and a token is remembered for one.
    for (let minute = 0; minute < 11; minute++) {
      vi.setSystemTime(Date.now() + 60_000)
      await authenticate(token).catch(() => {})
    }
    await expect(authenticate(token)).rejects.toMatchObject(invalid)
  })

  it('cannot be judged while the issuer is away: 503, and nothing said about the token', async () => {
    const issuer = await startIssuer()
    const key = await issuer.publish('one')
    const authenticate = issuedBy(issuer)
    const unavailable = { code: 'UNAVAILABLE', retryAfterSeconds: 5 }
    issuer.answerWith(500)
    await expect(authenticate(await key.sign())).rejects.toMatchObject(unavailable)
    issuer.answerWith(200, '<html>maintenance</html>')
    await expect(authenticate(await key.sign())).rejects.toMatchObject(unavailable)
    issuer.answerWith(200, '{"keys": "none"}')
    await expect(authenticate(await key.sign())).rejects.toMatchObject(unavailable)
    issuer.answerWith(200)
    expect(await authenticate(await key.sign())).toMatchObject({ userId: 'ada' })

    const another = issuedBy(issuer)
    await issuer.close()
    await expect(another(await key.sign())).rejects.toMatchObject(unavailable)
    // What was fetched before still serves.
    expect(await authenticate(await key.sign())).toMatchObject({ userId: 'ada' })
  })
})

describe('the development log-in', () => {
  const devLogin = createDevLogin(TEST_SECRET)

  it('makes the same user of the same name, however it is written', async () => {
    const [first, again, other] = await Promise.all(
      ['Ada', ' ada ', 'bob'].map((name) => devLogin.login(name)),
    )
    expect(first?.userId).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}$/)
    expect(again?.userId).toBe(first?.userId)
    expect(other?.userId).not.toBe(first?.userId)
    expect(await devLogin.authenticate(first?.token ?? '')).toMatchObject({ userId: first?.userId })
  })

  it('gives tokens that nothing else takes, and takes no others', async () => {
    const { token } = await devLogin.login('ada')
    await expect(createJwtAuthenticate(testAuth)(token)).rejects.toMatchObject(invalid)
    await expect(devLogin.authenticate(await signToken('ada'))).rejects.toMatchObject(invalid)
    await expect(createDevLogin(`${TEST_SECRET}!`).authenticate(token)).rejects.toMatchObject(invalid)
  })
})
