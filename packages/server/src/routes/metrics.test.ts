import type { Task } from '@holdfast/shared'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { startTestHoldfast, type TestHoldfast } from '../../test/test-holdfast.ts'

const TOKEN = 'metrics-token-for-tests'

let server: TestHoldfast
let url = ''
beforeAll(async () => {
  server = await startTestHoldfast({
    engineRuns: true,
    metricsToken: TOKEN,
    script: { name: 'scripted', query: () => ({ kind: 'succeeded', outputs: [] }) },
    engine: { sweepEveryMs: 20 },
  })
  url = await server.listen()
})
afterAll(() => server.stop())

/** As a request that came in over a socket from there; null: over none. */
const from = (address: string | null, headers: Record<string, string> = {}) =>
  server.holdfast.app.request(
    '/metrics',
    { headers },
    address === null
      ? {}
      : { incoming: { socket: { remoteAddress: address, remotePort: 1, remoteFamily: 'IPv4' } } },
  )

describe('GET /metrics (E6)', () => {
  it('shows, per provider, how late, how many, with what outcome, under which lock and how busy', async () => {
    const { body } = await server.as('ada')<{ task: Task }>('POST', '/v1/tasks', {
      json: { type: 'image', params: { prompt: 'a fox' } },
    })
    await vi.waitFor(
      async () => {
        await server.sql`update holdfast.work set due_at = now() - interval '3 s' where kind = 'poll' and epoch = 2 and due_at > now()`
        const task = (await server.as('ada')<{ task: Task }>('GET', `/v1/tasks/${body.task.id}`)).body.task
        expect(task.status).toBe('completed')
      },
      { timeout: 10_000, interval: 10 },
    )
    const response = await fetch(`${url}/metrics`)
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/)
    const text = await response.text()
    const value = (line: string) => {
      const found = text.split('\n').find((candidate) => candidate.startsWith(`${line} `))
      return found === undefined ? undefined : Number(found.slice(line.length + 1))
    }
    const here = 'provider="scripted"'
    expect(value(`holdfast_claims_total{${here},kind="send",lane="free_default"}`)).toBe(1)
    expect(value(`holdfast_claims_total{${here},kind="poll",lane="free_default"}`)).toBe(1)
    expect(value(`holdfast_claim_batches_total{${here},kind="poll"}`)).toBe(1)
    expect(value(`holdfast_submits_total{${here},outcome="accepted"}`)).toBe(1)
    expect(value(`holdfast_polls_total{${here},outcome="succeeded"}`)).toBe(1)
    expect(value(`holdfast_settles_total{${here},status="completed",result="settled"}`)).toBe(1)
    // The poll was 3 s late: in the buckets from 5 s on, and not in those up to 2 s.
    expect(value(`holdfast_due_lag_seconds_bucket{le="2",${here},kind="poll",lane="free_default"}`)).toBe(0)
    expect(value(`holdfast_due_lag_seconds_count{${here},kind="poll",lane="free_default"}`)).toBe(1)
    expect(
      value(`holdfast_due_lag_seconds_bucket{le="0.01",${here},kind="send",lane="free_default"}`),
    ).toBeDefined()
    expect(value('holdfast_lock_held{name="provider:scripted"}')).toBe(1)
    expect(value('holdfast_lock_held{name="sweeps"}')).toBe(1)
    expect(value(`holdfast_calls_in_flight{${here},operation="query"}`)).toBeDefined()
    expect(value(`holdfast_circuit{${here}}`)).toBe(0)
    expect(value('holdfast_swept_total{sweep="overdue"}')).toBeDefined()
  })

  it('is for callers on this machine', async () => {
    for (const address of ['127.0.0.1', '::1', '::ffff:127.0.0.1'])
      expect((await from(address)).status, address).toBe(200)
  })

  it('not for callers elsewhere whom a proxy on this machine lets in', async () => {
    const proxied: Record<string, string>[] = [
      { 'x-forwarded-for': '203.0.113.7' },
      { forwarded: 'for=203.0.113.7' },
      { via: '1.1 proxy' },
      { 'x-real-ip': '203.0.113.7' },
    ]
    for (const headers of proxied) {
      expect((await from('127.0.0.1', headers)).status, JSON.stringify(headers)).toBe(401)
      const authorization = `Bearer ${TOKEN}`
      expect((await from('127.0.0.1', { ...headers, authorization })).status).toBe(200)
    }
  })

  it('or with the token, and for nobody else (S2)', async () => {
    const elsewhere = ['10.0.0.7', '::ffff:10.0.0.7', '1.127.0.0', null]
    for (const address of elsewhere) {
      const refused = await from(address)
      expect(refused.status, String(address)).toBe(401)
      expect(await refused.json()).toMatchObject({ code: 'UNAUTHENTICATED', status: 401 })
      expect((await from(address, { authorization: `Bearer ${TOKEN}` })).status).toBe(200)
      for (const authorization of [
        `Bearer ${TOKEN}x`,
        `Bearer ${TOKEN.slice(1)}`,
        TOKEN,
        'Bearer ',
        'Bearer null',
      ])
        expect((await from(address, { authorization })).status, authorization).toBe(401)
    }
    // What a caller says about itself is not believed.
    expect(
      (await from('10.0.0.7', { 'x-forwarded-for': '127.0.0.1', forwarded: 'for=127.0.0.1' })).status,
    ).toBe(401)
  })

  it('without a token set, no token helps', async () => {
    const closed = await startTestHoldfast()
    try {
      for (const authorization of ['Bearer ', 'Bearer null', 'Bearer undefined']) {
        const response = await closed.holdfast.app.request('/metrics', { headers: { authorization } })
        expect(response.status).toBe(401)
      }
    } finally {
      await closed.stop()
    }
  })
})
