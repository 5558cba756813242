import type { StreamEvents } from '@holdfast/shared'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { type CuttableProxy, startCuttableProxy } from '../../test/cuttable-proxy.ts'
import { makeRunningTask, makeTask } from '../../test/make-task.ts'
import { readEvents } from '../../test/read-events.ts'
import { untold } from '../../test/record-notices.ts'
import { setProgress } from '../../test/set-progress.ts'
import { startTestHoldfast, type TestHoldfast, type TestHoldfastOptions } from '../../test/test-holdfast.ts'
import { signToken } from '../../test/test-tokens.ts'
import { acceptTask } from '../work/send/accept-task.ts'

/** For most tests, each with a user of its own. */
let server: TestHoldfast
/** For those that break it. */
let ownServer: TestHoldfast | undefined
let proxy: CuttableProxy | undefined
beforeAll(async () => {
  server = await startTestHoldfast({
    engineRuns: true,
    script: { query: () => ({ kind: 'succeeded', outputs: [] }) },
    streams: { sweepMs: 30, heartbeatMs: 10 },
  })
})
afterEach(async () => {
  await ownServer?.stop()
  await proxy?.close()
  ownServer = proxy = undefined
})
afterAll(() => server.stop())

async function startOwn(options: TestHoldfastOptions = {}): Promise<TestHoldfast> {
  ownServer = await startTestHoldfast(options)
  return ownServer
}
const seconds = () => Math.floor(Date.now() / 1000)
const task = (event: { data: unknown }) => event.data as StreamEvents['task']
const snapshot = (event: { data: unknown }) => event.data as StreamEvents['snapshot']

describe('GET /v1/stream', () => {
  it('sends a snapshot and then what happens, with ids to resume from', async () => {
    const { openStream, as } = server
    const response = await openStream('user0')
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toContain('text/event-stream')
    expect(response.headers.get('cache-control')).toBe('no-store, no-transform')
    expect(response.headers.get('x-accel-buffering')).toBe('no')
    const events = readEvents(response)
    const first = await events.next()
    expect(first).toMatchObject({
      event: 'snapshot',
      id: expect.stringMatching(/^[0-9a-f]+\.\d+\.\d+$/),
      data: { tasks: [], gone: [] },
    })

    const created = await as('user0')<{ task: { id: string } }>('POST', '/v1/tasks', {
      json: { type: 'image', params: { prompt: 'a fox' } },
    })
    const changes: string[] = []
    while (changes.at(-1) !== 'completed') {
      const event = await events.next()
      expect(event).toMatchObject({ event: 'task', id: expect.stringMatching(/^[0-9a-f]+\.\d+\.\d+$/) })
      expect(task(event).task.id).toBe(created.body.task.id)
      changes.push(task(event).change)
    }
    // Steps that came together may be told as one, but never out of order.
    expect(['submitted', 'started', 'completed'].filter((change) => changes.includes(change))).toEqual(
      changes,
    )
    await events.cancel()
  })

  it('says when a task has failed for good and was left for an operator', async () => {
    const own = await startOwn({
      engineRuns: true,
      script: { create: () => ({ kind: 'refused', code: 'SUBMIT_REFUSED', message: 'no', retryable: true }) },
    })
    const events = readEvents(await own.openStream('ada'))
    await events.until('snapshot')
    const { id } = await makeTask(own.sql, { provider: own.provider.name, maxAttempts: 1 })
    let last = task(await events.next())
    while (last.change === 'submitted') last = task(await events.next())
    expect(last).toMatchObject({
      change: 'dead-lettered',
      task: { id, status: 'failed', failure: { code: 'SUBMIT_REFUSED', deadLettered: true } },
    })
    await events.cancel()
  })

  it('resumes by Last-Event-ID', async () => {
    const { openStream, sql } = server
    const running = await makeRunningTask(sql, { userId: 'user1' })
    const first = readEvents(await openStream('user1'))
    const { id } = await first.next()
    await first.cancel()
    await setProgress(sql, running.id, 70)
    const resumed = readEvents(await openStream('user1', { headers: { 'last-event-id': id ?? '' } }))
    const event = await resumed.next()
    expect(snapshot(event).tasks).toMatchObject([{ id: running.id, progress: 70 }])
    await resumed.cancel()
  })

  it('another user’s changes never appear', async () => {
    const { openStream, as } = server
    const events = readEvents(await openStream('user2'))
    await events.until('snapshot')
    const body = { json: { type: 'image', params: { prompt: 'a fox' } } }
    await as('user2-other')('POST', '/v1/tasks', body)
    const own = await as('user2')<{ task: { id: string } }>('POST', '/v1/tasks', body)
    expect(task(await events.next()).task.id).toBe(own.body.task.id)
    await events.cancel()
  })

  it('makes up for a lost hint, and beats while nothing happens', async () => {
    const { openStream, sql } = server
    const events = readEvents(await openStream('user3'))
    await events.until('snapshot')
    expect(await events.nextComment()).toBe('still here')
    // Written past the server, so no hint is given.
    const silent = await makeTask(sql, { userId: 'user3' })
    expect(task(await events.next())).toMatchObject({ task: { id: silent.id }, change: 'submitted' })
    await events.cancel()
  })

  it('brings the polls of whoever begins to watch forward', async () => {
    const { openStream, sql, provider } = await startOwn()
    const running = await makeRunningTask(sql, { userId: 'ada', provider: provider.name })
    const events = readEvents(await openStream('ada'))
    await events.until('snapshot')
    const [work] =
      await sql`select due_at < now() + interval '1 minute' as soon from holdfast.work where task_id = ${running.id}`
    expect(work).toEqual({ soon: true })
    await events.cancel()
  })

  it('ends when its token does, and says so', async () => {
    const { openStream } = server
    // Within the tolerance for clocks that differ, so it opens, and is over at once.
    const events = await readEvents(await openStream('user5', { exp: seconds() - 1 })).rest()
    expect(events).toMatchObject([{ event: 'snapshot' }, { event: 'end', data: { reason: 'token-expired' } }])
  })

  it('ends in time when its token ends while it is open', async () => {
    const { openStream } = server
    const exp = seconds() + 2
    const events = await readEvents(await openStream('user6', { exp })).rest()
    expect(events.at(-1)).toMatchObject({ event: 'end', data: { reason: 'token-expired' } })
    expect(Date.now()).toBeGreaterThanOrEqual(exp * 1000)
  })

  it('ends when the server stops, and says that reconnecting helps', async () => {
    const { openStream, holdfast } = await startOwn()
    const events = readEvents(await openStream('ada'))
    await events.until('snapshot')
    const [rest] = await Promise.all([events.rest(), holdfast.stop()])
    expect(rest).toMatchObject([{ event: 'end', data: { reason: 'shutdown' } }])
  })

  it('notices that its client has gone, over a real connection too', async () => {
    const { listen, logLines } = server
    const url = await listen()
    const client = new AbortController()
    const response = await fetch(`${url}/v1/stream`, {
      headers: { authorization: `Bearer ${await signToken('leaver')}` },
      signal: client.signal,
    })
    await readEvents(response).until('snapshot')
    client.abort()
    await vi.waitFor(
      () =>
        expect(logLines.some((line) => line.includes('"leaver"') && line.includes('stream closed'))).toBe(
          true,
        ),
      { timeout: 5_000 },
    )
  })

  it('F5: ends at once when its client has gone before it began', async () => {
    const { listen, logLines } = server
    const url = await listen()
    const headers = { authorization: `Bearer ${await signToken('hasty')}` }
    const logged = (text: string) =>
      logLines.filter((line) => line.includes('"hasty"') && line.includes(text)).length
    for (let n = 0; n < 60; n++) {
      const client = new AbortController()
      const answer = fetch(`${url}/v1/stream`, { headers, signal: client.signal }).catch(() => null)
      setTimeout(() => client.abort(), (n % 12) * 0.5)
      await answer
    }
    await vi.waitFor(() => expect(logged('stream closed')).toBe(logged('stream opened')), { timeout: 5_000 })
  })

  it('HEAD opens nothing that nobody would ever close', async () => {
    const { as, logLines } = server
    const answer = await as('user9')('HEAD', '/v1/stream')
    expect(answer.status).toBe(200)
    expect(logLines.filter((line) => line.includes('"user9"') && line.includes('stream opened'))).toEqual([])
  })

  it('is a problem like any other when the database is away as it begins', async () => {
    const { as } = await startOwn({
      throughUrl: async (url) => {
        proxy = await startCuttableProxy(url)
        return proxy.url
      },
    })
    await proxy?.cut()
    const answer = await as('ada')('GET', '/v1/stream')
    expect(answer).toMatchObject({ status: 503, body: { code: 'UNAVAILABLE' } })
    expect(answer.headers.get('retry-after')).toBe('2')
  })

  it('P5: outlives a database that goes away, says nothing of it, and brings what happened meanwhile', async () => {
    const { openStream, sql, logLines } = await startOwn({
      streams: { sweepMs: 10, heartbeatMs: 20 },
      throughUrl: async (url) => {
        proxy = await startCuttableProxy(url)
        return proxy.url
      },
    })
    const running = await makeRunningTask(sql, { userId: 'ada' })
    const events = readEvents(await openStream('ada'))
    expect(snapshot(await events.until('snapshot')).tasks).toMatchObject([{ id: running.id }])
    await proxy?.cut()
    await vi.waitFor(() => expect(logLines.join('')).toContain('streams cannot look for changes'), 10_000)
    expect(await events.nextComment()).toBe('still here')
    await setProgress(sql, running.id, 40)
    await proxy?.mend()
    expect(task(await events.next())).toMatchObject({ task: { id: running.id, progress: 40 } })
    expect(logLines.filter((line) => line.includes('streams cannot look'))).toHaveLength(1)
    await events.cancel()
  })

  it('refuses more streams of a user than one may have, and says when to come back', async () => {
    const { openStream } = await startOwn({ streams: { perUser: 1 } })
    const first = readEvents(await openStream('ada'))
    await first.until('snapshot')
    const refused = await openStream('ada')
    expect(refused.status).toBe(429)
    expect(refused.headers.get('retry-after')).toBe('30')
    expect(await refused.json()).toMatchObject({ code: 'RATE_LIMITED' })
    // The same browser coming back is not one more.
    const from = { headers: { 'x-holdfast-browser': 'phone' } }
    const phone = readEvents(await openStream('bob', from))
    await phone.until('snapshot')
    const again = await openStream('bob', from)
    expect(again.status).toBe(200)
    expect(await phone.rest()).toMatchObject([{ event: 'end', data: { reason: 'superseded' } }])
    await readEvents(again).cancel()
    await first.cancel()
  })

  it('shows one stream’s news on every stream of that user', async () => {
    const { openStream, as, sql } = await startOwn()
    const streams = [readEvents(await openStream('ada')), readEvents(await openStream('ada'))]
    for (const events of streams) await events.until('snapshot')
    const { body } = await as('ada')<{ task: { id: string } }>('POST', '/v1/tasks', {
      json: { type: 'image', params: { prompt: 'a fox' } },
    })
    const { id } = body.task
    for (const events of streams) expect(task(await events.next())).toMatchObject({ task: { id } })
    await acceptTask(untold(sql), {
      taskId: id,
      externalId: 'x',
      provider: 'nobody',
      deadlineMs: 1_000,
      expectedMs: 1,
      firstPollMs: 1_000_000,
      canCancel: false,
    })
    await as('ada')('POST', `/v1/tasks/${id}/cancel`)
    for (const events of streams)
      expect(task(await events.next())).toMatchObject({
        task: { id, status: 'cancelled' },
        change: 'cancelled',
      })
    for (const events of streams) await events.cancel()
  })

  it('F5: closes the older of two streams of one browser and user, and refuses an older leader', async () => {
    const { openStream } = server
    const from = (browser: string, epoch: string) => ({
      headers: { 'x-holdfast-browser': browser, 'x-holdfast-epoch': epoch },
    })
    const first = readEvents(await openStream('user20', from('phone', '1')))
    const otherBrowser = readEvents(await openStream('user20', from('laptop', '1')))
    const otherUser = readEvents(await openStream('user21', from('phone', '1')))
    for (const events of [first, otherBrowser, otherUser]) await events.until('snapshot')

    const second = readEvents(await openStream('user20', from('phone', '2')))
    await second.until('snapshot')
    expect(await first.rest()).toMatchObject([{ event: 'end', data: { reason: 'superseded' } }])

    const late = await openStream('user20', from('phone', '1'))
    expect(late.status).toBe(409)
    expect(await late.json()).toMatchObject({ code: 'SUPERSEDED' })
    expect(await openStream('user20', from('phone', 'x'))).toHaveProperty('status', 400)

    // Refused ones disturb nobody, and once the newer one is gone the browser may come back.
    await server.as('user20')('POST', '/v1/tasks', { json: { type: 'image', params: { prompt: 'a fox' } } })
    for (const events of [second, otherBrowser]) expect(await events.next()).toMatchObject({ event: 'task' })
    await second.cancel()
    await vi.waitFor(async () => {
      const again = await openStream('user20', from('phone', '1'))
      expect(again.status).toBe(200)
      await readEvents(again).cancel()
    })
    for (const events of [otherBrowser, otherUser]) await events.cancel()
  })

  it('tells browsers of other origins that they may send the epoch', async () => {
    const { call } = await startOwn({ corsOrigins: ['https://app.example'] })
    const answer = await call('OPTIONS', '/v1/stream', {
      headers: {
        origin: 'https://app.example',
        'access-control-request-method': 'GET',
        'access-control-request-headers': 'x-holdfast-browser,x-holdfast-epoch',
      },
    })
    expect(answer.headers.get('access-control-allow-headers')).toContain('X-Holdfast-Epoch')
  })
})
