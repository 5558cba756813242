import { Hono } from 'hono'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestHoldfast, type TestHoldfast } from '../../test/test-holdfast.ts'
import { readTraceparent } from './trace.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const PARENT = '00f067aa0ba902b7'
const SECRET = 'f'.repeat(64)
const TASK = '0199f0a0-0000-7000-8000-000000000001'

let server: TestHoldfast
beforeAll(async () => {
  server = await startTestHoldfast({ corsOrigins: ['https://app.example'] })
})
afterAll(() => server.stop())

describe('the log of requests', () => {
  it.each([
    ['POST', `/v1/webhooks/PROVIDER/${TASK}/${SECRET}`],
    ['POST', `/v1/webhooks/PROVIDER/${TASK}/${SECRET}/`],
    ['GET', `/v1/webhooks/PROVIDER/${TASK}/${SECRET}`],
    ['POST', `//v1/webhooks/PROVIDER/${TASK}/${SECRET}`],
    ['POST', `/V1/webhooks/PROVIDER/${TASK}/${SECRET}`],
    ['POST', `/v1/webhooks/PROVIDER?secret=${SECRET}`],
    ['GET', `/files/results/a/b/1.png?signature=${SECRET}`],
  ])('never has the secret of an address: %s %s', async (method, path) => {
    const before = server.logLines.length
    await server.holdfast.app.request(path.replace('PROVIDER', server.provider.name), { method })
    const lines = server.logLines.slice(before)
    expect(lines.length).toBeGreaterThan(0)
    expect(lines.join('\n')).not.toContain(SECRET)
  })

  it('has the pattern of the route, by which requests can be counted', async () => {
    const before = server.logLines.length
    await server.call('POST', `/v1/webhooks/${server.provider.name}/${TASK}/${SECRET}`)
    await server.as('ada')('GET', `/v1/tasks/${TASK}`)
    await server.call('GET', '/nowhere')
    const routes = server.logLines
      .slice(before)
      .map((line) => JSON.parse(line))
      .filter(({ msg }) => msg === 'request')
      .map(({ route, status }) => [route, status])
    expect(routes).toEqual([
      ['/v1/webhooks/:provider/:taskId/:secret', 401],
      ['/v1/tasks/:id', 404],
      [null, 404],
    ])
  })

  it('has it with its prefix where the server is mounted under one', async () => {
    const before = server.logLines.length
    const app = new Hono().route('/holdfast', server.holdfast.app)
    await app.request(`/holdfast/v1/webhooks/${server.provider.name}/${TASK}/${SECRET}`, { method: 'POST' })
    const lines = server.logLines.slice(before).join('\n')
    expect(lines).toContain('"/holdfast/v1/webhooks/:provider/:taskId/:secret"')
    expect(lines).not.toContain(SECRET)
  })
})

describe('traceparent', () => {
  it('is read whole: trace, parent and flags', () => {
    expect(readTraceparent(`00-${TRACE}-${PARENT}-01`)).toEqual({
      traceId: TRACE,
      parentId: PARENT,
      flags: '01',
    })
    // A later version may add to it.
    expect(readTraceparent(`01-${TRACE}-${PARENT}-00-more`)).toMatchObject({ traceId: TRACE, flags: '00' })
  })

  it.each([
    ['the version that there is not', `ff-${TRACE}-${PARENT}-01`],
    ['no trace', `00-${'0'.repeat(32)}-${PARENT}-01`],
    ['no parent', `00-${TRACE}-${'0'.repeat(16)}-01`],
    ['more than version 00 has', `00-${TRACE}-${PARENT}-01-more`],
    ['capitals', `00-${TRACE.toUpperCase()}-${PARENT}-01`],
    ['nothing', ''],
  ])('that cannot be one is not taken: %s', (_, header) => {
    expect(readTraceparent(header)).toBeNull()
  })

  it('goes on: its trace answers, and its parent and flags are on every line', async () => {
    const before = server.logLines.length
    const { headers } = await server.call('GET', '/healthz', {
      headers: { traceparent: `00-${TRACE}-${PARENT}-01` },
    })
    expect(headers.get('x-trace-id')).toBe(TRACE)
    const line = server.logLines.slice(before).find((text) => text.includes('"request"')) ?? '{}'
    expect(JSON.parse(line)).toMatchObject({ traceId: TRACE, parentId: PARENT, traceFlags: '01' })
    const other = await server.call('GET', '/healthz', {
      headers: { traceparent: `ff-${TRACE}-${PARENT}-01` },
    })
    expect(other.headers.get('x-trace-id')).toMatch(/^[0-9a-f]{32}$/)
    expect(other.headers.get('x-trace-id')).not.toBe(TRACE)
  })

  it('may be sent by pages of other origins', async () => {
    const { headers } = await server.call('OPTIONS', '/v1/tasks', {
      headers: {
        origin: 'https://app.example',
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'traceparent,tracestate',
      },
    })
    expect(headers.get('access-control-allow-headers')?.toLowerCase()).toMatch(/traceparent.*tracestate/)
  })
})
