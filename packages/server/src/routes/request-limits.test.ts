import { Hono } from 'hono'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeTask } from '../../test/make-task.ts'
import { createMemoryLog } from '../../test/memory-log.ts'
import { problem, startTestHoldfast, type TestHoldfast } from '../../test/test-holdfast.ts'
import { signToken } from '../../test/test-tokens.ts'
import { HoldfastError } from '../errors.ts'
import type { AppEnv } from './app-context.ts'
import { addressOf, createRequestLimits } from './request-limits.ts'

const KEY = 'a-service-key-of-at-least-32-characters'

describe('through the API', () => {
  let test: TestHoldfast
  beforeAll(async () => {
    test = await startTestHoldfast({
      requestsPerMinute: { user: 5, address: 3 },
      serviceKeys: [KEY],
      script: { readWebhook: () => ({ kind: 'irrelevant' }) },
    })
  })
  afterAll(() => test.stop())

  /** As a request that came in over a socket from there. */
  async function from(address: string, path: string, init: RequestInit = {}) {
    const incoming = { socket: { remoteAddress: address, remotePort: 1, remoteFamily: 'IPv4' } }
    const response = await test.holdfast.app.request(path, init, { incoming })
    return {
      status: response.status,
      headers: response.headers,
      body: await response.json().catch(() => null),
    }
  }
  const statuses = async (count: number, ask: () => Promise<{ status: number }>) => {
    const found: number[] = []
    for (let n = 0; n < count; n += 1) found.push((await ask()).status)
    return found
  }

  it('a user has so many requests in a minute, whatever the address, and then is told when to come again', async () => {
    let n = 0
    const ask = async () => {
      n += 1
      const authorization = `Bearer ${await signToken('ada')}`
      return from(`10.0.0.${n}`, n % 2 ? '/v1/tasks' : '/v1/credits', { headers: { authorization } })
    }
    expect(await statuses(5, ask)).toEqual([200, 200, 200, 200, 200])
    const refused = await ask()
    expect(refused).toMatchObject(problem('RATE_LIMITED', 429))
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(60)
    // Others are not held up.
    expect((await test.as('bob')('GET', '/v1/tasks')).status).toBe(200)
  })

  it('a body of many values counts as several requests, refused or not: checking them takes long', async () => {
    const values = (count: number) => ({
      json: {
        type: 'image',
        params: Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, n])),
      },
    })
    const post = (user: string, count: number) => () => test.as(user)('POST', '/v1/tasks', values(count))
    expect(await statuses(6, post('ivo', 900))).toEqual([400, 400, 400, 400, 400, 429])
    expect(await statuses(3, post('jan', 2_000))).toEqual([400, 400, 429])
    expect(await statuses(2, post('kim', 9_000))).toEqual([400, 429])
    expect(await statuses(2, post('leo', 11_000))).toEqual([400, 429])
    const known = { 'content-type': 'application/json', authorization: `Bearer ${KEY}` }
    const body = JSON.stringify(values(9_000).json)
    expect(await test.call('POST', '/v1/tasks?userId=zoe', { body, headers: known })).toMatchObject({
      status: 400,
    })
  })

  it('a conversation counts as ten requests: it stays for ever', async () => {
    const begin = () => test.as('mia')('POST', '/v1/conversations', { json: { title: 'foxes' } })
    expect(await statuses(2, begin)).toEqual([201, 429])
    expect(await test.sql`select from holdfast.conversations where user_id = 'mia'`).toHaveLength(1)

    const submit = (id: string) => () =>
      test.as('ned')('POST', '/v1/tasks', {
        json: { type: 'image', params: { prompt: 'a fox' }, conversation: { id, title: 'foxes' } },
      })
    expect(await statuses(1, submit('0199d2a0-0000-7000-8000-00000000000a'))).toEqual([201])
    expect(await statuses(1, submit('0199d2a0-0000-7000-8000-00000000000b'))).toEqual([429])
    expect(await test.sql`select from holdfast.conversations where user_id = 'ned'`).toHaveLength(1)
  })

  it('an address has so many without a good token, forged ones and wrong addresses included', async () => {
    const at = '192.0.2.1'
    const forged = { headers: { authorization: 'Bearer forged' } }
    expect((await from(at, '/v1/tasks')).status).toBe(401)
    expect((await from(at, '/v1/tasks', forged)).status).toBe(401)
    expect((await from(at, '/nowhere')).status).toBe(404)
    for (const [path, init] of [
      ['/v1/tasks', {}],
      ['/v1/tasks', forged],
      ['/nowhere', {}],
      ['/metrics', {}],
      ['/v1/webhooks/nobody', { method: 'POST' }],
    ] as const) {
      expect(await from(at, path, init), path).toMatchObject(problem('RATE_LIMITED', 429))
    }
    expect((await from('192.0.2.2', '/v1/tasks')).status).toBe(401)
    // A good token from the same address, say of a whole office, goes on.
    const authorization = `Bearer ${await signToken('cleo')}`
    expect((await from(at, '/v1/tasks', { headers: { authorization } })).status).toBe(200)
  })

  it('tokens that expire do not use up their address', async () => {
    const at = '192.0.2.3'
    const expired = async (userId: string) => {
      const authorization = `Bearer ${await signToken(userId, { exp: 1_000 })}`
      return from(at, '/v1/tasks', { headers: { authorization } })
    }
    for (const user of ['d', 'e', 'f', 'g', 'h']) {
      expect(await expired(user)).toMatchObject(problem('TOKEN_EXPIRED', 401))
    }
    expect((await from(at, '/v1/tasks')).status).toBe(401)
  })

  it('health, and webhooks that are as they should be, are never refused', async () => {
    const at = '192.0.2.4'
    expect(await statuses(10, () => from(at, '/healthz'))).toEqual(Array(10).fill(200))
    expect(await statuses(10, () => from(at, '/readyz'))).toEqual(Array(10).fill(200))
    const hook = () => from(at, `/v1/webhooks/${test.provider.name}`, { method: 'POST', body: '{}' })
    expect(await statuses(10, hook)).toEqual(Array(10).fill(200))
    expect(await statuses(4, () => from(at, '/v1/tasks'))).toEqual([401, 401, 401, 429])
    expect(await statuses(2, hook)).toEqual([200, 200])
  })

  it('strangers who guess at the address of a task are refused, and never the vendor behind the same address', async () => {
    const at = '192.0.2.5'
    const { id } = await makeTask(test.sql, { provider: test.provider.name })
    const [job] = await test.sql<{ secret: string }[]>`
      select callback_secret as secret from holdfast.provider_jobs where task_id = ${id}
    `
    const call = (secret = '') =>
      from(at, `/v1/webhooks/${test.provider.name}/${id}/${secret}`, { method: 'POST', body: '{}' })
    expect(await statuses(5, () => call('0'.repeat(64)))).toEqual([401, 401, 401, 429, 429])
    expect(await statuses(5, () => call(job?.secret))).toEqual(Array(5).fill(200))
  })

  it('an app’s own backend is not limited', async () => {
    const ask = () =>
      test.call('GET', '/v1/tasks?userId=zoe', { headers: { authorization: `Bearer ${KEY}` } })
    expect(await statuses(10, ask)).toEqual(Array(10).fill(200))
  })
})

describe('/readyz', () => {
  it('asks the database once for all who ask at a time', async () => {
    const test = await startTestHoldfast()
    try {
      const queries = async () => {
        const [row] = await test.sql<{ count: number }[]>`
          select count(*)::int as count from pg_stat_activity
          where datname = current_database() and pid <> pg_backend_pid() and query = 'select name from holdfast.migrations'
        `
        return row?.count ?? 0
      }
      const answers = await Promise.all(Array.from({ length: 200 }, () => test.call('GET', '/readyz')))
      expect(answers.every(({ status }) => status === 200)).toBe(true)
      // With a query each, every connection of the pool would have made one.
      expect(await queries()).toBe(1)
    } finally {
      await test.stop()
    }
  })
})

describe('what is counted', () => {
  const at = (now: () => number, most = 2) =>
    createRequestLimits({ user: most, trustProxy: 0, log: createMemoryLog().log, now })

  it('begins anew with the minute, for each by itself', () => {
    let now = 0
    const { user } = at(() => now)
    user('ada')
    now = 50_000
    user('bob')
    user('ada')
    expect(() => user('ada')).toThrow(HoldfastError)
    now = 60_000
    user('ada')
    user('bob')
    expect(() => user('bob')).toThrow(/in 50 s/)
  })

  it('does not grow without end', () => {
    let now = 0
    const { user } = at(() => now, 1)
    user('first')
    for (let n = 0; n < 50_000; n += 1) user(`user-${n}`)
    // Forgotten, and so let in: memory has an end.
    user('first')
    expect(() => user('user-49999')).toThrow(HoldfastError)
    now = 120_000
    user('user-49999')
  })
})

describe('the address of a caller', () => {
  async function addressSeen(remoteAddress: string, trustProxy: number, forwarded?: string) {
    const app = new Hono<AppEnv>().get('/', (c) => c.json(addressOf(c, trustProxy)))
    const incoming = { socket: { remoteAddress, remotePort: 1, remoteFamily: 'IPv4' } }
    const headers: Record<string, string> = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded }
    return (await app.request('/', { headers }, { incoming })).json()
  }

  it.each<[string, string, number, string | undefined, string]>([
    ['its socket', '203.0.113.7', 0, undefined, '203.0.113.7'],
    ['not what it says', '203.0.113.7', 0, '198.51.100.1', '203.0.113.7'],
    ['what our proxy says', '10.0.0.1', 1, '198.51.100.1', '198.51.100.1'],
    ['not what it told our proxy', '10.0.0.1', 1, '127.0.0.1, 198.51.100.1', '198.51.100.1'],
    ['what the outermost of two says', '10.0.0.1', 2, '1.1.1.1, 198.51.100.1, 10.0.0.2', '198.51.100.1'],
    ['the proxy, if it says nothing', '10.0.0.1', 1, undefined, '10.0.0.1'],
    ['the proxy, if it says nonsense', '10.0.0.1', 1, 'unknown', '10.0.0.1'],
    ['without its port', '10.0.0.1', 1, '198.51.100.1:4711', '198.51.100.1'],
    ['IPv4 in IPv6', '::ffff:203.0.113.7', 0, undefined, '203.0.113.7'],
    ['the network of IPv6', '2001:db8:1:2:aaaa::1', 0, undefined, '2001:db8:1:2'],
    ['the same, in short', '2001:db8::1', 0, undefined, '2001:db8:0:0'],
    ['the same, in brackets', '10.0.0.1', 1, '[2001:db8:1:2::5]:4711', '2001:db8:1:2'],
  ])('is %s', async (_, remote, trustProxy, forwarded, expected) => {
    expect(await addressSeen(remote, trustProxy, forwarded)).toBe(expected)
  })

  it('is not known without a socket', async () => {
    const app = new Hono<AppEnv>().get('/', (c) => c.json(addressOf(c, 0)))
    expect(await (await app.request('/')).json()).toBeNull()
  })
})
