import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createManualClock, type ManualClock } from '../../test/manual-clock.ts'
import { HoldfastError } from '../holdfast-error.ts'
import { createHttp, type Http } from './http.ts'
import type { GetToken } from './tokens.ts'

const BASE = 'https://api.example'

let session: AbortController
let clock: ManualClock
beforeEach(() => {
  session = new AbortController()
  clock = createManualClock()
})
afterEach(() => session.abort())

/** Lets all promises run that need nothing from outside. */
async function settle() {
  for (let turn = 0; turn < 50; turn++) await Promise.resolve()
}

interface Sent {
  address: string
  token: string
  answer(status: number): void
}

/** Calls whose answers the test gives, in the order it likes. */
function open(tokenSource: () => GetToken, isOffline?: () => boolean) {
  const sent: Sent[] = []
  const fetch = (address: unknown, init?: RequestInit) =>
    new Promise<Response>((resolve) => {
      const token = new Headers(init?.headers).get('Authorization')?.replace('Bearer ', '') ?? ''
      const answer = (status: number) => resolve(new Response('{}', { status }))
      sent.push({ address: String(address), token, answer })
    })
  const http = createHttp({ url: BASE, fetch, clock, tokenSource, session: session.signal, isOffline })
  return { http, sent }
}

/** An app's token service: it gives what it has, and renews when the test says so. */
function tokenService() {
  const renewals: { grant(token: string): void; fail(error: unknown): void }[] = []
  const service = {
    token: 'old',
    renewals,
    getToken: ({ fresh }: { fresh: boolean }): string | Promise<string> => {
      if (!fresh) return service.token
      return new Promise<string>((resolve, reject) => {
        renewals.push({
          grant(token) {
            service.token = token
            resolve(token)
          },
          fail: reject,
        })
      })
    },
  }
  return service
}

const call = (http: Http) => http.json('GET', '/v1/tasks')
const stream = (http: Http, fresh: boolean) =>
  http.open('/v1/stream', { headers: {}, signal: session.signal, fresh })

describe('where a token goes', () => {
  it('only below the base, and nothing is asked or sent for another address', async () => {
    const asked: unknown[] = []
    const getToken: GetToken = (how) => {
      asked.push(how)
      return 'token'
    }
    const { http, sent } = open(() => getToken)
    for (const path of [
      'https://evil.example/',
      '//evil.example/',
      '/\\evil.example',
      'https:evil.example',
    ]) {
      await expect(call({ ...http, json: (method) => http.json(method, path) })).rejects.toMatchObject({
        code: 'INVALID_REQUEST',
      })
      await expect(
        http.open(path, { headers: {}, signal: session.signal, fresh: false }),
      ).rejects.toMatchObject({ code: 'INVALID_REQUEST' })
    }
    expect([asked, sent]).toEqual([[], []])
  })

  it('another base that the app has named gets it, and from there the first does not', async () => {
    const { http, sent } = open(() => tokenService().getToken)
    const other = http.at('https://app.example/api')
    const calls = [other.json('GET', '/tasks/pending'), http.at('/below').json('GET', '/tasks')]
    await settle()
    for (const { answer } of sent) answer(200)
    await Promise.all(calls)
    expect(sent.map(({ address }) => address)).toEqual([
      'https://app.example/api/tasks/pending',
      'https://api.example/below/tasks',
    ])
    await expect(other.json('GET', `${BASE}/v1/tasks`)).rejects.toMatchObject({ code: 'INVALID_REQUEST' })
  })
})

describe('an expired token', () => {
  it('is renewed once for all calls that it was sent with, whenever they are refused', async () => {
    const service = tokenService()
    const { http, sent } = open(() => service.getToken)
    const calls = Array.from({ length: 8 }, () => call(http))
    await settle()
    for (const { answer } of sent.slice(0, 4)) answer(401)
    await settle()
    expect(service.renewals).toHaveLength(1)
    service.renewals[0]?.grant('new')
    await settle()
    for (const { answer } of sent.slice(4, 8)) answer(401)
    await settle()
    expect(service.renewals).toHaveLength(1)
    expect(sent.slice(8).map(({ token }) => token)).toEqual(Array.from({ length: 8 }, () => 'new'))
    for (const { answer } of sent.slice(8)) answer(200)
    await Promise.all(calls)
  })

  it('is not sent again by an app that keeps on giving it', async () => {
    const getToken: GetToken = ({ fresh }) => (fresh ? 'new' : 'old')
    const { http, sent } = open(() => getToken)
    for (const round of [0, 1]) {
      const done = call(http)
      await settle()
      if (round === 0) sent[0]?.answer(401)
      await settle()
      sent.at(-1)?.answer(200)
      await done
    }
    expect(sent.map(({ token }) => token)).toEqual(['old', 'new', 'new'])
  })

  it('is renewed again when the renewed one is refused, and a second refusal is the answer', async () => {
    const service = tokenService()
    const { http, sent } = open(() => service.getToken)
    const first = call(http)
    await settle()
    sent[0]?.answer(401)
    await settle()
    service.renewals[0]?.grant('new')
    await settle()
    sent[1]?.answer(401)
    await expect(first).rejects.toMatchObject({ status: 401 })
    expect(service.renewals).toHaveLength(1)
    const second = call(http)
    await settle()
    sent[2]?.answer(401)
    await settle()
    service.renewals[1]?.grant('newer')
    await settle()
    sent[3]?.answer(200)
    await second
    expect(sent.map(({ token }) => token)).toEqual(['old', 'new', 'new', 'newer'])
  })

  it('whose renewal fails fails for all that wait, and the next call tries again', async () => {
    const service = tokenService()
    const { http, sent } = open(() => service.getToken)
    const waiting = [call(http), call(http)]
    const outcomes = Promise.allSettled(waiting)
    await settle()
    for (const { answer } of sent) answer(401)
    await settle()
    service.renewals[0]?.fail(new Error('session is over'))
    expect(await outcomes).toMatchObject(
      waiting.map(() => ({
        status: 'rejected',
        reason: { code: 'UNAUTHENTICATED', message: expect.stringContaining('session is over') },
      })),
    )
    const next = call(http)
    await settle()
    sent[2]?.answer(401)
    await settle()
    expect(service.renewals).toHaveLength(2)
    service.renewals[1]?.grant('new')
    await settle()
    sent[3]?.answer(200)
    await next
  })

  it('whose renewal never ends is given up, and the next call tries again', async () => {
    const service = tokenService()
    const { http, sent } = open(() => service.getToken)
    const stuck = expect(call(http)).rejects.toMatchObject({ code: 'NETWORK' })
    await settle()
    sent[0]?.answer(401)
    await settle()
    clock.advance(30_000)
    await stuck
    clock.advance(30_000)
    await settle()
    const next = call(http)
    await settle()
    sent[1]?.answer(401)
    await settle()
    expect(service.renewals).toHaveLength(2)
    // The first comes back to nobody.
    service.renewals[1]?.grant('new')
    await settle()
    service.renewals[0]?.grant('late')
    await settle()
    sent[2]?.answer(200)
    await next
    expect(sent[2]?.token).toBe('new')
    expect(clock.waiting).toBe(0)
  })

  it('of a stream is renewed with the same renewal, or not when a call has done so already', async () => {
    const service = tokenService()
    const { http, sent } = open(() => service.getToken)
    const first = stream(http, false)
    await settle()
    sent[0]?.answer(200)
    await first
    // The server ends the stream, and refuses a call at the same time.
    const both = [call(http), stream(http, true)]
    await settle()
    sent[1]?.answer(401)
    await settle()
    expect(service.renewals).toHaveLength(1)
    service.renewals[0]?.grant('new')
    await settle()
    expect(sent.slice(2).map(({ token }) => token)).toEqual(['new', 'new'])
    for (const { answer } of sent.slice(2)) answer(200)
    await Promise.all(both)

    const refused = call(http)
    await settle()
    sent[4]?.answer(401)
    await settle()
    service.renewals[1]?.grant('newer')
    await settle()
    sent[5]?.answer(200)
    await refused
    const again = stream(http, true)
    await settle()
    expect(service.renewals).toHaveLength(2)
    expect(sent[6]?.token).toBe('newer')
    sent[6]?.answer(200)
    await again
    // This one has expired by itself.
    const last = stream(http, true)
    await settle()
    expect(service.renewals).toHaveLength(3)
    service.renewals[2]?.grant('newest')
    await settle()
    sent[7]?.answer(200)
    await last
  })

  it('is not overwritten by the renewal of a getToken that the app has replaced', async () => {
    const before = tokenService()
    const after = tokenService()
    after.token = 'after'
    let source = before.getToken
    const { http, sent } = open(() => source)
    const calls = [call(http), call(http)]
    await settle()
    sent[0]?.answer(401)
    await settle()
    source = after.getToken
    // Refused with a token of the one before: the new one has a token, and need not renew.
    sent[1]?.answer(401)
    await settle()
    expect(sent[2]?.token).toBe('after')
    const next = call(http)
    await settle()
    before.renewals[0]?.grant('before, renewed')
    await settle()
    expect(sent.slice(3).map(({ token }) => token)).toEqual(['after', 'before, renewed'])
    sent[2]?.answer(200)
    sent[4]?.answer(200)
    await Promise.all(calls)
    sent[3]?.answer(401)
    await settle()
    expect([before.renewals, after.renewals].map(({ length }) => length)).toEqual([1, 1])
    after.renewals[0]?.grant('after, renewed')
    await settle()
    sent[5]?.answer(200)
    await next
    expect(sent[5]?.token).toBe('after, renewed')
  })

  /**
   * The server takes only the newest token, and the token service logs the user out when two renewals overlap or when a
   * token is renewed that was never refused: refresh tokens that rotate.
   */
  it('in whatever order answers come, never needs two renewals at a time, and none too many', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        fc.array(fc.boolean(), { minLength: 1, maxLength: 8 }),
        async (s, kinds) => {
          let newest = 0
          let renewing = false
          let overlaps = 0
          const getToken: GetToken = ({ fresh }) => {
            const held = newest
            if (!fresh) return s.schedule(Promise.resolve(`t${held}`))
            if (renewing) overlaps++
            renewing = true
            return s.schedule(Promise.resolve()).then(() => {
              renewing = false
              newest = held + 1
              return `t${newest}`
            })
          }
          const fetch = (_: unknown, init?: RequestInit) => {
            const token = new Headers(init?.headers).get('Authorization')
            // `t0` has expired from the start.
            const status = () => (newest > 0 && token === `Bearer t${newest}` ? 200 : 401)
            return s.schedule(Promise.resolve()).then(() => new Response('{}', { status: status() }))
          }
          const life = new AbortController()
          const http = createHttp({
            url: BASE,
            fetch,
            clock,
            tokenSource: () => getToken,
            session: life.signal,
          })
          const all = Promise.allSettled(
            kinds.map((isStream) => (isStream ? stream(http, false) : call(http))),
          )
          await s.waitFor(all)
          life.abort()
          expect((await all).map(({ status }) => status)).toEqual(kinds.map(() => 'fulfilled'))
          expect({ renewals: newest, overlaps }).toEqual({ renewals: 1, overlaps: 0 })
        },
      ),
      { numRuns: 300 },
    )
  })
})

describe('a getToken that fails', () => {
  const HOLDFAST = new HoldfastError('FORBIDDEN', 'This account is closed.')

  it.each<[string, unknown, boolean, object]>([
    ['for want of a network, in Chromium', new TypeError('Failed to fetch'), false, { code: 'NETWORK' }],
    [
      'for want of a network, in Firefox',
      new TypeError('NetworkError when attempting to fetch resource.'),
      false,
      { code: 'NETWORK' },
    ],
    ['for want of a network, in Safari', new TypeError('Load failed'), false, { code: 'NETWORK' }],
    [
      'for want of a network, in an older Safari',
      new TypeError('The Internet connection appears to be offline.'),
      false,
      { code: 'NETWORK' },
    ],
    ['for want of a network, in Node', new TypeError('fetch failed'), false, { code: 'NETWORK' }],
    ['for any reason while offline', new Error('no session'), true, { code: 'NETWORK' }],
    [
      'because it is wrong',
      new TypeError('auth.token is not a function'),
      false,
      { code: 'UNAUTHENTICATED' },
    ],
    ['for a reason of its own', new Error('no session'), false, { code: 'UNAUTHENTICATED' }],
    ['with something that is no error', 'no session', false, { code: 'UNAUTHENTICATED' }],
    ['with an error of ours', HOLDFAST, true, { code: 'FORBIDDEN', message: HOLDFAST.message }],
  ])('%s says so, and sends nothing', async (_, cause, offline, expected) => {
    const why = cause instanceof Error ? cause.message : String(cause)
    for (const getToken of [
      () => Promise.reject(cause),
      () => {
        throw cause
      },
    ]) {
      const { http, sent } = open(
        () => getToken,
        () => offline,
      )
      const error: HoldfastError = await call(http).then(
        () => expect.unreachable(),
        (reason) => reason,
      )
      expect(error).toBeInstanceOf(HoldfastError)
      expect(error).toMatchObject({ status: null, ...expected })
      expect(error.message).toContain(why)
      // The user who reads it can do nothing about a function of the app.
      if (error.code === 'NETWORK') expect(error.message).not.toContain('getToken')
      if (cause !== HOLDFAST) expect(error.cause).toBe(cause)
      expect(sent).toEqual([])
    }
  })
})
