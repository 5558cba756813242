import type { SyncAnswer, Task } from '@holdfast/shared'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { createTestDatabase } from '../../test/test-database.ts'
import { startTestHoldfast } from '../../test/test-holdfast.ts'
import { signToken } from '../../test/test-tokens.ts'
import { startTwoReplicas } from '../../test/two-replicas.ts'
import { createMemoryBus } from '../bus/memory-bus.ts'
import { postgresChannel } from '../bus/postgres-channel.ts'
import { createReplicatedBus } from '../bus/replicated-bus.ts'
import { connect } from '../database/connect.ts'
import { createLog } from '../log.ts'
import { createPollWatch } from './poll-watch.ts'

afterEach(() => void vi.useRealTimers())

describe('whoever polls', () => {
  function start() {
    vi.useFakeTimers()
    const bus = createMemoryBus()
    const watched: string[] = []
    const watch = createPollWatch({ bus, onWatched: (user) => watched.push(user), now: () => Date.now() })
    return { bus, watch, watched }
  }

  it('watches for 15 s after each time, and is told of once', () => {
    const { bus, watch, watched } = start()
    for (let n = 0; n < 10; n += 1) {
      watch.asked('ada')
      vi.advanceTimersByTime(3_000)
      expect(bus.isWatched('ada')).toBe(true)
    }
    expect(watched).toEqual(['ada'])
    vi.advanceTimersByTime(11_999)
    expect(bus.isWatched('ada')).toBe(true)
    vi.advanceTimersByTime(1)
    expect(bus.isWatched('ada')).toBe(false)
    watch.asked('ada')
    expect(bus.isWatched('ada')).toBe(true)
    expect(watched).toEqual(['ada', 'ada'])
    expect(bus.isWatched('bob')).toBe(false)
  })

  it('slowly, watches from one time to the next', () => {
    const { bus, watch } = start()
    watch.asked('ada')
    vi.advanceTimersByTime(60_000)
    watch.asked('ada')
    vi.advanceTimersByTime(89_000)
    expect(bus.isWatched('ada')).toBe(true)
    vi.advanceTimersByTime(2_000)
    expect(bus.isWatched('ada')).toBe(false)
  })

  it('now and then, does not; and is forgotten', () => {
    const { bus, watch } = start()
    watch.asked('ada')
    vi.advanceTimersByTime(300_000)
    expect(vi.getTimerCount()).toBe(0)
    watch.asked('ada')
    vi.advanceTimersByTime(15_000)
    expect(bus.isWatched('ada')).toBe(false)
  })

  it('is let go with the server', () => {
    const { bus, watch } = start()
    watch.asked('ada')
    watch.close()
    expect(bus.isWatched('ada')).toBe(false)
    expect(vi.getTimerCount()).toBe(0)
  })
})

// Unwatched, such a task is first polled after half a minute.
const script = { query: () => ({ kind: 'running', progress: null }) as const }

describe('tasks of a client that polls', () => {
  it.each([
    ['POST', '/v1/sync', {}],
    ['GET', '/v1/tasks?status=active', undefined],
  ])('are asked about at the watched pace: %s %s', async (method, path, json) => {
    const test = await startTestHoldfast({ engineRuns: true, script })
    try {
      const { body } = await test.as('ada')<{ task: Task }>('POST', '/v1/tasks', {
        json: { type: 'image', params: { prompt: 'a fox' } },
      })
      await vi.waitFor(
        async () => {
          const { task } = (await test.as('ada')<{ task: Task }>('GET', `/v1/tasks/${body.task.id}`)).body
          expect(task.status).toBe('running')
        },
        { timeout: 10_000 },
      )
      expect(test.provider.queries).toEqual([])
      await test.as('ada')<SyncAnswer>(method, path, { json })
      await vi.waitFor(() => expect(test.provider.queries.length).toBeGreaterThan(2), { timeout: 10_000 })
    } finally {
      await test.stop()
    }
  })

  it('at another replica than the one that works, too', async () => {
    const database = await createTestDatabase()
    const sql = connect(database.url)
    const log = createLog('silent')
    const bus = () => createReplicatedBus({ open: postgresChannel({ sql, url: database.url }), log })
    const replicas = await startTwoReplicas({
      database,
      script,
      front: { bus: bus() },
      back: { bus: bus() },
    })
    try {
      await replicas.submit('ada')
      await vi.waitFor(
        async () => expect(await database.sql`select from holdfast.work where kind = 'poll'`).toHaveLength(1),
        { timeout: 10_000 },
      )
      const authorization = `Bearer ${await signToken('ada')}`
      const headers = { authorization, 'content-type': 'application/json' }
      await replicas.front.app.request('/v1/sync', { method: 'POST', headers, body: '{}' })
      await vi.waitFor(() => expect(replicas.provider.queries.length).toBeGreaterThan(2), {
        timeout: 10_000,
      })
    } finally {
      await replicas.stop()
      await sql.end()
      await database.drop()
    }
  })
})
