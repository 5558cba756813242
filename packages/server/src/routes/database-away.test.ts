import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { type CuttableProxy, startCuttableProxy } from '../../test/cuttable-proxy.ts'
import { dumpTables } from '../../test/dump-tables.ts'
import { problem, startTestHoldfast, type TestHoldfast } from '../../test/test-holdfast.ts'

let server: TestHoldfast
let proxy: CuttableProxy
beforeAll(async () => {
  server = await startTestHoldfast({
    engineRuns: true,
    throughUrl: async (url) => {
      proxy = await startCuttableProxy(url)
      return proxy.url
    },
  })
})
afterAll(async () => {
  await server.stop()
  await proxy.close()
})

const id = '0199d2a0-0000-7000-8000-000000000001'
const fox = { type: 'image', params: { prompt: 'a fox' } }
const routes: [string, string, unknown?][] = [
  ['POST', '/v1/tasks', fox],
  ['GET', '/v1/tasks'],
  ['GET', `/v1/tasks/${id}`],
  ['POST', `/v1/tasks/${id}/cancel`],
  ['POST', `/v1/tasks/${id}/retry`],
  ['POST', '/v1/sync', {}],
  ['GET', '/v1/stream'],
  ['GET', '/v1/conversations'],
  ['POST', '/v1/conversations', { title: 'foxes' }],
  ['GET', `/v1/conversations/${id}/messages`],
  ['POST', `/v1/conversations/${id}/read`],
  ['GET', '/readyz'],
]

const untilRunning = (count: number) =>
  vi.waitFor(
    async () => {
      const { body } = await server.as('ada')('GET', '/v1/tasks')
      expect(body).toMatchObject({ tasks: Array.from({ length: count }, () => ({ status: 'running' })) })
    },
    { timeout: 10_000 },
  )

describe('while the database is away (P5)', () => {
  it('every route answers 503 with Retry-After, the process lives, and all is well when it is back', async () => {
    const ada = server.as('ada')
    expect((await ada('POST', '/v1/tasks', { json: fox })).status).toBe(201)
    await untilRunning(1)
    await proxy.cut()
    const before = await dumpTables(server.sql)
    const answers = await Promise.all(
      routes.map(([method, path, json]) => ada(method, path, json === undefined ? {} : { json })),
    )
    for (const [index, answer] of answers.entries()) {
      expect(answer, routes[index]?.join(' ')).toMatchObject(problem('UNAVAILABLE', 503))
      expect(answer.headers.get('retry-after')).toBe('2')
      expect(JSON.stringify(answer.body)).not.toMatch(/ECONN|127\.0\.0\.1/)
    }
    expect((await server.call('GET', '/healthz')).status).toBe(200)
    expect(await dumpTables(server.sql)).toEqual(before)

    await proxy.mend()
    await vi.waitFor(async () => expect((await server.call('GET', '/readyz')).status).toBe(200), {
      timeout: 10_000,
    })
    expect((await ada('POST', '/v1/tasks', { json: fox })).status).toBe(201)
    await untilRunning(2)
    expect(server.provider.creates).toHaveLength(2)
    expect(server.logLines.join('')).not.toContain('unexpected error')
  })
})
