import { connect as connectHttp2, createServer as createHttp2Server } from 'node:http2'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { StreamEvents, SyncAnswer } from '@holdfast/shared'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { startBufferingProxy } from '../../test/buffering-proxy.ts'
import { makeRunningTask, makeTask } from '../../test/make-task.ts'
import { readEvents, type ServerEvent } from '../../test/read-events.ts'
import { setProgress } from '../../test/set-progress.ts'
import { startTestHoldfast, type TestHoldfast } from '../../test/test-holdfast.ts'
import { signToken } from '../../test/test-tokens.ts'
import { createMemoryBus } from '../bus/memory-bus.ts'
import type { Sql } from '../database/connect.ts'
import { createMemoryHot } from '../hot/memory-hot.ts'

const bus = createMemoryBus()
let server: TestHoldfast
let url: string
beforeAll(async () => {
  server = await startTestHoldfast({
    bus,
    streams: { sweepMs: 50, heartbeatMs: 200, stallMs: 1_500 },
  })
  url = await server.listen()
})
afterAll(() => server.stop())

const until = (check: () => unknown) => vi.waitFor(check, { timeout: 15_000, interval: 10 })
const logged = (userId: string, text: string) =>
  server.logLines.filter((line) => line.includes(`"${userId}"`) && line.includes(text)).length

const task = ({ data }: ServerEvent) => data as StreamEvents['task']
/** A task's id and progress, as they are in the JSON of its state. */
const STATE = /"id":"([0-9a-f-]{36})"[^{}]*?"status":"running"[^{}]*?"progress":(\d+)/g

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

function memoryInUse(): number {
  collectGarbage()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

/** Asks for a stream and reads not a byte of it. */
async function openDeaf(userId: string, at = url): Promise<Socket> {
  const { hostname, port } = new URL(at)
  const socket = connect(Number(port), hostname)
  await new Promise<void>((resolve) => socket.once('connect', () => resolve()))
  socket.pause()
  socket.on('error', () => {})
  const token = await signToken(userId)
  socket.write(`GET /v1/stream HTTP/1.1\r\nhost: ${hostname}\r\nauthorization: Bearer ${token}\r\n\r\n`)
  return socket
}

/** Streams carry long parameters in short. Not so those of rows that are older than that, which a client gets whole. */
const carryWhole = (sql: Sql, userId: string) =>
  sql`update holdfast.tasks set shown_params = null where user_id = ${userId}`

describe('clients as they are', () => {
  it('E6: one that never reads is cut off, costs no more than one piece, and holds nobody up', async () => {
    const userId = 'deaf'
    // Each state is larger than what fits into the buffers on the way.
    const params = { prompt: 'x'.repeat(200_000) }
    const tasks = await Promise.all(
      Array.from({ length: 20 }, () => makeRunningTask(server.sql, { userId, params })),
    )
    await carryWhole(server.sql, userId)
    const attentive = readEvents(await server.openStream(userId))
    await attentive.until('snapshot')
    const socket = await openDeaf(userId)
    await until(() => expect(logged(userId, 'stream opened')).toBe(2))
    const memoryBefore = process.memoryUsage().external
    for (let progress = 1; progress <= 60; progress += 1) {
      await setProgress(server.sql, tasks[progress % 20]?.id ?? '', progress)
      bus.publish(userId)
      await attentive.until('task')
    }
    await until(() => expect(logged(userId, 'was cut off')).toBe(1))
    // A snapshot of 4 MB and a piece of news at most, never a queue of all that happened.
    expect(process.memoryUsage().external - memoryBefore).toBeLessThan(40_000_000)
    expect(logged(userId, 'stream closed')).toBe(1)
    await setProgress(server.sql, tasks[0]?.id ?? '', 99)
    bus.publish(userId)
    await attentive.until('task')
    await attentive.cancel()
    socket.destroy()
  }, 40_000)

  it('E6: one that reads nothing while thousands of updates pass costs no memory for them, and then gets the newest', async () => {
    const hot = createMemoryHot()
    const patient = await startTestHoldfast({
      bus,
      hot,
      streams: { sweepMs: 3_600_000, heartbeatMs: 3_600_000, stallMs: 3_600_000 },
    })
    try {
      const userId = 'sleeper'
      const params = { prompt: 'x'.repeat(50_000) }
      const tasks = await Promise.all(
        Array.from({ length: 40 }, () => makeRunningTask(patient.sql, { userId, params })),
      )
      await carryWhole(patient.sql, userId)
      const attentive = readEvents(await patient.openStream(userId))
      await attentive.until('snapshot')
      const socket = await openDeaf(userId, await patient.listen())
      await until(() =>
        expect(patient.logLines.filter((line) => line.includes('stream opened'))).toHaveLength(2),
      )
      const before = memoryInUse()
      for (let progress = 1; progress < 100; progress += 1) {
        await hot.write(tasks.map(({ id: taskId }) => ({ userId, taskId, progress })))
        bus.publish(userId, 'progressed')
        for (let shown = 0; shown < tasks.length; shown += 1) {
          expect(task(await attentive.next()).task.progress).toBe(progress)
        }
      }
      // The other was sent 200 MB.
      expect(memoryInUse() - before).toBeLessThan(30_000_000)

      let bytes = 0
      let text = ''
      const newest = new Map<string, number>()
      socket.on('data', (chunk: Buffer) => {
        bytes += chunk.length
        text += chunk.toString('latin1')
        for (const [, id = '', progress] of text.matchAll(STATE)) newest.set(id, Number(progress))
        text = text.slice(-60_000)
      })
      socket.resume()
      await until(() =>
        expect(tasks.filter(({ id }) => newest.get(id) !== 99).map(({ id }) => newest.get(id))).toEqual([]),
      )
      expect(bytes).toBeLessThan(40_000_000)
      socket.destroy()
      await attentive.cancel()
    } finally {
      await patient.stop()
    }
  }, 60_000)

  it('E6: behind a proxy that holds everything back, sync works, and a stream ends with its client', async () => {
    const proxy = await startBufferingProxy(url)
    const headers = { authorization: `Bearer ${await signToken('walled')}` }
    const client = new AbortController()
    const stream = fetch(`${proxy.url}/v1/stream`, { headers, signal: client.signal })
    const given = stream.then(
      () => 'answered',
      () => 'given up',
    )
    await until(() => expect(logged('walled', 'stream opened')).toBe(1))
    const task = await makeTask(server.sql, { userId: 'walled' })
    const answer = await fetch(`${proxy.url}/v1/sync`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: '{}',
    })
    expect(((await answer.json()) as SyncAnswer).tasks.map(({ id }) => id)).toEqual([task.id])
    expect(proxy.held()).toBe(1)
    client.abort()
    expect(await given).toBe('given up')
    await until(() => expect(logged('walled', 'stream closed')).toBe(1))
    await proxy.close()
  })

  it('C5: many streams share one connection over HTTP/2, and each ends by itself', async () => {
    const http2 = createHttp2Server(server.holdfast.listener)
    await new Promise<void>((resolve) => http2.listen(0, '127.0.0.1', resolve))
    const session = connectHttp2(`http://127.0.0.1:${(http2.address() as AddressInfo).port}`)
    const users = Array.from({ length: 12 }, (_, n) => `h2-${n}`)
    const streams = await Promise.all(
      users.map(async (userId) => {
        const stream = session.request({
          ':path': '/v1/stream',
          authorization: `Bearer ${await signToken(userId)}`,
        })
        const state = { text: '', status: 0, stream }
        stream.on('response', (headers) => {
          state.status = Number(headers[':status'])
        })
        stream.setEncoding('utf8').on('data', (chunk) => {
          state.text += chunk
        })
        return state
      }),
    )
    await until(() => {
      for (const { text, status } of streams)
        expect([status, text.includes('event: snapshot')]).toEqual([200, true])
    })
    const task = await makeTask(server.sql, { userId: 'h2-7' })
    bus.publish('h2-7')
    await until(() => expect(streams[7]?.text).toContain(task.id))
    await until(() => expect(streams[3]?.text).toContain(': still here'))
    expect(streams[3]?.text).not.toContain(task.id)
    streams[7]?.stream.close()
    await until(() => expect(bus.isWatched('h2-7')).toBe(false))
    expect(bus.isWatched('h2-3')).toBe(true)
    session.destroy()
    await until(() => expect(users.some((userId) => bus.isWatched(userId))).toBe(false))
    await new Promise((resolve) => http2.close(resolve))
  })

  it('says when to reconnect, each at another time', async () => {
    const retries = new Set<string>()
    for (let n = 0; n < 5; n += 1) {
      const response = await server.openStream(`retry-${n}`)
      const reader = response.body?.getReader()
      const { value } = (await reader?.read()) ?? {}
      const [, ms] = /^retry: (\d+)\n/.exec(new TextDecoder().decode(value)) ?? []
      expect(Number(ms)).toBeGreaterThanOrEqual(1_000)
      expect(Number(ms)).toBeLessThanOrEqual(5_000)
      retries.add(ms ?? '')
      await reader?.cancel()
    }
    expect(retries.size).toBeGreaterThan(1)
  })
})
