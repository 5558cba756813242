import { createPrivateKey, sign as signEd25519 } from 'node:crypto'
import fc from 'fast-check'
import { Webhook } from 'standardwebhooks'
import { describe, expect, it } from 'vitest'
import { createEd25519Jwks } from './ed25519-jwks.ts'
import { checkKieCallback, signKieCallback } from './kie-hmac.ts'
import { checkStandardWebhook, signStandardWebhook } from './standard-webhooks.ts'

const SIGNED_AT = 1_700_000_000
const now = SIGNED_AT * 1000

/** The text with one bit of one character changed; always another text. */
function flip(text: string, at: number, bit: number): string {
  const index = at % text.length
  return (
    text.slice(0, index) +
    String.fromCharCode(text.charCodeAt(index) ^ (1 << (bit % 7))) +
    text.slice(index + 1)
  )
}
const place = fc.tuple(fc.nat({ max: 10_000 }), fc.nat({ max: 6 }))

describe('Standard Webhooks', () => {
  const secret = 'whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY='
  const body = '{"id":"p1","status":"succeeded"}'
  const signature = 'v1,yVLdtJq3jIz36ov6oPRhF5qA+oPqErm0U8sBoVx3ZPk='
  const headers = {
    'webhook-id': 'msg_test_1',
    'webhook-timestamp': String(SIGNED_AT),
    'webhook-signature': signature,
  }
  const check = (changed: Partial<typeof headers> = {}, text = body, receivedAtMs = now, key = secret) =>
    checkStandardWebhook(key, { headers: { ...headers, ...changed }, body: Buffer.from(text), receivedAtMs })

  it('makes and takes the known signature', () => {
    expect(signStandardWebhook(secret, { id: 'msg_test_1', timestamp: SIGNED_AT, body })).toBe(signature)
    expect(check()).toEqual({ kind: 'genuine' })
  })

  it("is what the scheme's own library makes", () => {
    fc.assert(
      fc.property(fc.string(), fc.uint8Array({ minLength: 1, maxLength: 64 }), (text, key) => {
        const theirs = new Webhook(Buffer.from(key).toString('base64'))
        const ours = `whsec_${Buffer.from(key).toString('base64')}`
        const at = { id: 'msg_1', timestamp: SIGNED_AT, body: text }
        expect(signStandardWebhook(ours, at)).toBe(theirs.sign('msg_1', new Date(now), text))
      }),
    )
  })

  it('takes any of several signatures, and a secret without prefix as it is', () => {
    expect(check({ 'webhook-signature': `v1,AAAA v2,x ${signature}` })).toEqual({ kind: 'genuine' })
    const plain = signStandardWebhook('plain secret', { id: 'msg_test_1', timestamp: SIGNED_AT, body })
    expect(check({ 'webhook-signature': plain }, body, now, 'plain secret')).toEqual({ kind: 'genuine' })
  })

  it('looks at ten signatures and no more', () => {
    const many = Array.from({ length: 10 }, () => 'v1,AAAA').join(' ')
    expect(check({ 'webhook-signature': `${many} ${signature}` })).toMatchObject({ kind: 'forged' })
  })

  it('a flipped bit anywhere is forged', () => {
    fc.assert(
      fc.property(place, ([at, bit]) => {
        expect(check({}, flip(body, at, bit)).kind).toBe('forged')
        expect(check({ 'webhook-id': flip('msg_test_1', at, bit) }).kind).toBe('forged')
        expect(check({ 'webhook-timestamp': flip(String(SIGNED_AT), at, bit) }).kind).toBe('forged')
        expect(check({ 'webhook-signature': flip(signature, at, bit) }).kind).toBe('forged')
      }),
      { numRuns: 500 },
    )
  })

  it.each(['webhook-id', 'webhook-timestamp', 'webhook-signature'])('without %s it is forged', (name) => {
    const { [name as keyof typeof headers]: _left, ...rest } = headers
    expect(
      checkStandardWebhook(secret, { headers: rest, body: Buffer.from(body), receivedAtMs: now }),
    ).toMatchObject({ kind: 'forged' })
  })

  it.each([
    [300_000, 'genuine'],
    [300_001, 'stale'],
    [-300_000, 'genuine'],
    [-300_001, 'stale'],
    [86_400_000, 'stale'],
  ])('received %i ms after it was signed, it is %s', (offMs, kind) => {
    expect(check({}, body, now + offMs).kind).toBe(kind)
  })
})

describe("KIE's HMAC", () => {
  const signature = 'YsuKGGIkIIm8zq8q8AJ7tPNSJVNYbimLqYKl7AMwqUI='
  const headers = { 'x-webhook-timestamp': String(SIGNED_AT), 'x-webhook-signature': signature }
  const check = (changed: Partial<typeof headers> = {}, taskId = 'task_abc', receivedAtMs = now) =>
    checkKieCallback('kie-test-key', taskId, { headers: { ...headers, ...changed }, receivedAtMs })

  it('makes and takes the known signature', () => {
    expect(signKieCallback('kie-test-key', 'task_abc', SIGNED_AT)).toBe(signature)
    expect(check()).toEqual({ kind: 'genuine' })
  })

  it('a flipped bit in task, time or signature is forged', () => {
    fc.assert(
      fc.property(place, ([at, bit]) => {
        expect(check({}, flip('task_abc', at, bit)).kind).toBe('forged')
        expect(check({ 'x-webhook-timestamp': flip(String(SIGNED_AT), at, bit) }).kind).toBe('forged')
        expect(check({ 'x-webhook-signature': flip(signature, at, bit) }).kind).toBe('forged')
      }),
      { numRuns: 500 },
    )
  })

  it('without its headers it is forged', () => {
    expect(checkKieCallback('kie-test-key', 'task_abc', { headers: {}, receivedAtMs: now }).kind).toBe(
      'forged',
    )
  })

  it.each([
    [300_000, 'genuine'],
    [300_001, 'stale'],
    [-300_000, 'genuine'],
    [-300_001, 'stale'],
  ])('received %i ms after it was signed, it is %s', (offMs, kind) => {
    expect(check({}, 'task_abc', now + offMs).kind).toBe(kind)
  })
})

describe('Ed25519 with a key set', () => {
  /** The known one: 32 bytes of 7. */
  const X = '6kpsY-KcUgq-9VB7Ey7F-ZVHdq6-vnuSQh7qaRRG0iw'
  const privateKey = (byte: number, x: string) =>
    createPrivateKey({
      key: { kty: 'OKP', crv: 'Ed25519', x, d: Buffer.alloc(32, byte).toString('base64url') },
      format: 'jwk',
    })
  const jwks = (...xs: unknown[]) =>
    JSON.stringify({ keys: xs.map((x) => ({ kty: 'OKP', crv: 'Ed25519', x })) })
  const message = Buffer.from('message')
  const signature = signEd25519(null, message, privateKey(7, X))
  // Made once with node:crypto from 32 bytes of 8.
  const OTHER_X = 'E5j2LG0aRXxRumpLXz29L2n8qTIWIY3ImX5Ba9F9k8o'

  function setUp(...replies: (string | null)[]) {
    const clock = { now }
    const asked: number[] = []
    const check = createEd25519Jwks({
      now: () => clock.now,
      fetchKeySet: async () => {
        asked.push(clock.now)
        return replies[Math.min(asked.length, replies.length) - 1] ?? null
      },
    })
    return { clock, asked, check }
  }

  it('takes what either of two keys signed', async () => {
    const { check, asked } = setUp(jwks(OTHER_X, X))
    expect(await check(message, signature)).toBe('genuine')
    expect(await check(message, signature)).toBe('genuine')
    expect(asked).toHaveLength(1)
  })

  it('a flipped bit anywhere is forged', async () => {
    const { check } = setUp(jwks(X))
    await fc.assert(
      fc.asyncProperty(fc.nat({ max: 511 }), fc.nat({ max: 55 }), async (inSignature, inMessage) => {
        const badSignature = Buffer.from(signature)
        badSignature[inSignature >> 3] = (badSignature[inSignature >> 3] ?? 0) ^ (1 << (inSignature & 7))
        expect(await check(message, badSignature)).toBe('forged')
        const badMessage = Buffer.from(message)
        badMessage[inMessage >> 3] = (badMessage[inMessage >> 3] ?? 0) ^ (1 << (inMessage & 7))
        expect(await check(badMessage, signature)).toBe('forged')
      }),
      { numRuns: 200 },
    )
  })

  it('learns a new key when none fits, and forgets the old', async () => {
    const { check, asked, clock } = setUp(jwks(OTHER_X), jwks(X))
    clock.now += 1
    expect(await check(message, Buffer.alloc(64))).toBe('forged')
    clock.now += 60_000
    expect(await check(message, signature)).toBe('genuine')
    expect(asked).toHaveLength(2)
  })

  it('forged calls make it ask once a minute at most', async () => {
    const { check, asked, clock } = setUp(jwks(X))
    for (let call = 0; call < 100; call++) {
      expect(await check(message, Buffer.alloc(64, call))).toBe('forged')
      clock.now += 1_000
    }
    expect(asked).toHaveLength(2)
  })

  it('all who come while it asks wait for the one answer', async () => {
    const { check, asked } = setUp(jwks(X))
    const all = await Promise.all(Array.from({ length: 20 }, () => check(message, signature)))
    expect(new Set(all)).toEqual(new Set(['genuine']))
    expect(asked).toHaveLength(1)
  })

  it('keys are used for a day; without an answer then, nothing is taken', async () => {
    const { check, asked, clock } = setUp(jwks(X), null, '<html>', jwks(X))
    expect(await check(message, signature)).toBe('genuine')
    clock.now += 24 * 60 * 60_000 - 1
    expect(await check(message, signature)).toBe('genuine')
    expect(asked).toHaveLength(1)
    clock.now += 1
    expect(await check(message, signature)).toBe('no-keys')
    expect(await check(message, signature)).toBe('no-keys')
    expect(asked).toHaveLength(2)
    clock.now += 60_000
    expect(await check(message, signature)).toBe('no-keys')
    clock.now += 60_000
    expect(await check(message, signature)).toBe('genuine')
  })

  it('a set that cannot be read leaves the keys that work', async () => {
    const { check, clock } = setUp(jwks(X), '{"keys":"none"}')
    expect(await check(message, signature)).toBe('genuine')
    clock.now += 60_000
    expect(await check(message, Buffer.alloc(64))).toBe('forged')
    expect(await check(message, signature)).toBe('genuine')
  })

  it('keys of other kinds, and broken ones, are passed over', async () => {
    const set = {
      keys: [
        null,
        7,
        { kty: 'RSA', n: 'x' },
        { kty: 'OKP', crv: 'X25519', x: X },
        { kty: 'OKP', crv: 'Ed25519', x: '!' },
        { kty: 'OKP', crv: 'Ed25519', x: X },
      ],
    }
    const { check } = setUp(JSON.stringify(set))
    expect(await check(message, signature)).toBe('genuine')
  })
})
