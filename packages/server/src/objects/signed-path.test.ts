import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { signPath, steadyExpiry, verifyPath } from './signed-path.ts'

const secret = 'the secret of these tests'
const now = Date.UTC(2030, 0, 1)
const anyText = fc.array(fc.nat({ max: 0xffff })).map((codes) => String.fromCharCode(...codes))
const segment = fc.stringMatching(/^[A-Za-z0-9_-]{1,20}$/)
const keys = fc.array(segment, { minLength: 1, maxLength: 4 }).map((segments) => segments.join('/'))

function parts(path: string) {
  const url = new URL(path, 'http://localhost')
  return {
    key: url.pathname.slice('/files/'.length),
    expires: url.searchParams.get('expires') ?? '',
    signature: url.searchParams.get('signature') ?? '',
  }
}

describe('a signed path', () => {
  it('is valid until it ends, for the secret it was made with', () => {
    fc.assert(
      fc.property(keys, fc.integer({ min: 1, max: 1_000_000 }), (key, seconds) => {
        const signed = parts(signPath(secret, key, now / 1_000 + seconds))
        expect(signed.key).toBe(key)
        expect(verifyPath(secret, signed, now)).toEqual({ kind: 'valid', remainingMs: seconds * 1_000 })
        expect(verifyPath(secret, signed, now + seconds * 1_000 - 1).kind).toBe('valid')
        expect(verifyPath(secret, signed, now + seconds * 1_000).kind).toBe('expired')
        expect(verifyPath('another secret', signed, now).kind).toBe('forged')
      }),
    )
  })

  it('is for nothing else: any other key, end or signature is forged', () => {
    const key = 'a/b.png'
    const signed = parts(signPath(secret, key, now / 1_000 + 60))
    const anything = fc.oneof(fc.string(), anyText, keys, fc.nat().map(String))
    fc.assert(
      fc.property(anything, fc.constantFrom('key', 'expires', 'signature'), (value, name) => {
        fc.pre(value !== signed[name])
        expect(verifyPath(secret, { ...signed, [name]: value }, now)).toEqual({ kind: 'forged' })
      }),
      { numRuns: 200 },
    )
    for (const expires of [
      `0${signed.expires}`,
      ` ${signed.expires}`,
      `${signed.expires}.0`,
      '1e12',
      'Infinity',
    ]) {
      expect(verifyPath(secret, { ...signed, expires }, now)).toEqual({ kind: 'forged' })
    }
  })

  it('cannot be moved between key and end, which are signed apart', () => {
    const signed = parts(signPath(secret, '2/3', 1))
    expect(verifyPath(secret, { ...signed, key: '/3', expires: '12' }, 0).kind).toBe('forged')
  })
})

describe('steadyExpiry', () => {
  it('never ends early, nor much later than wanted, and moves seldom', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 4e12 }), fc.integer({ min: 1, max: 3e9 }), (at, wantedMs) => {
        const lives = steadyExpiry(at, wantedMs) * 1_000 - at
        expect(lives).toBeGreaterThanOrEqual(wantedMs)
        expect(lives).toBeLessThanOrEqual(wantedMs + Math.max(1_000, Math.min(3_600_000, wantedMs / 4)))
        const windowMs = Math.min(3_600, Math.max(1, Math.floor(wantedMs / 4_000))) * 1_000
        const during = Array.from({ length: 10 }, (_, n) => steadyExpiry(at + (n * windowMs) / 10, wantedMs))
        expect(new Set(during).size).toBeLessThanOrEqual(2)
      }),
    )
  })
})
