import type { Problem, Task } from '@holdfast/shared'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { askedFor } from '../../test/asked-for.ts'
import type { Script } from '../../test/scripted-provider.ts'
import { scriptedTypes } from '../../test/scripted-types.ts'
import { problem, startTestHoldfast, type TestHoldfast } from '../../test/test-holdfast.ts'
import type { QueryOutcome } from '../providers/provider.ts'
import type { TaskType } from '../tasks/task-types.ts'

const servers: TestHoldfast[] = []
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.stop()))
})

/** The whole server, with sweeps that come all the time. */
async function serve(script: Script, type: Partial<TaskType> = {}, tasksPerMinute?: number) {
  const server = await startTestHoldfast({
    script: { name: 'scripted', ...script },
    types: scriptedTypes('scripted', type),
    engineRuns: true,
    engine: { sweepEveryMs: 20 },
    tasksPerMinute,
  })
  servers.push(server)
  return server
}

const fox = { type: 'image', params: { prompt: 'a fox' } }
const create = async (server: TestHoldfast, more: object = {}) => {
  const { status, body } = await server.asApp('ada')<{ task: Task }>('POST', '/v1/tasks', {
    json: { ...fox, ...more },
  })
  expect(status).toBe(201)
  return body.task
}
const get = async (server: TestHoldfast, { id }: Task) =>
  (await server.as('ada')<{ task: Task }>('GET', `/v1/tasks/${id}`)).body.task
const until = (check: () => Promise<void>) => vi.waitFor(check, { timeout: 10_000, interval: 10 })
const untilStatus = (server: TestHoldfast, task: Task, status: string) =>
  until(async () => expect((await get(server, task)).status).toBe(status))
const pollNow = (server: TestHoldfast) =>
  server.sql`update holdfast.work set due_at = now() where kind = 'poll'`
const running: QueryOutcome = { kind: 'running', progress: 10 }
const away: QueryOutcome = { kind: 'inconclusive', reason: 'no answer', retryAfterMs: null }

describe('deadlines, through the API (F6)', () => {
  it('a task that is still running at the deadline of its type fails by itself, after one more poll', async () => {
    const server = await serve({ query: () => running }, { deadlineMs: 300 })
    const task = await create(server)
    await untilStatus(server, task, 'failed')
    const ended = await get(server, task)
    expect(ended.failure).toEqual({
      code: 'DEADLINE_EXCEEDED',
      message: expect.stringContaining('retry'),
      retryable: true,
    })
    expect(Date.parse(ended.deadlineAt ?? '') - Date.parse(ended.startedAt ?? '')).toBe(300)
    expect(Date.parse(ended.finishedAt ?? '')).toBeGreaterThanOrEqual(Date.parse(ended.deadlineAt ?? ''))
    expect(server.provider.queries.length).toBeGreaterThanOrEqual(1)
  })

  it('a task may have its own instead (F16)', async () => {
    const server = await serve({ query: () => running })
    const patient = await create(server)
    const hasty = await create(server, { deadlineMs: 1_000 })
    await untilStatus(server, hasty, 'failed')
    expect((await get(server, hasty)).failure?.code).toBe('DEADLINE_EXCEEDED')
    expect((await get(server, patient)).status).toBe('running')
  })

  it('counts from acceptance: waiting for the provider is not held against a task', async () => {
    let open = false
    const server = await serve(
      {
        create: ({ taskId }) =>
          open
            ? { kind: 'accepted', externalId: `external-${taskId}` }
            : { kind: 'not-accepted', reason: 'full', retryAfterMs: 20 },
        query: () => running,
      },
      { deadlineMs: 60_000 },
    )
    const task = await create(server)
    await until(async () => expect(server.provider.creates.length).toBeGreaterThanOrEqual(3))
    expect(await get(server, task)).toMatchObject({ status: 'pending', deadlineAt: null })
    open = true
    await untilStatus(server, task, 'running')
    const accepted = await get(server, task)
    expect(Date.parse(accepted.startedAt ?? '')).toBeGreaterThan(Date.parse(accepted.createdAt))
    expect(Date.parse(accepted.deadlineAt ?? '') - Date.parse(accepted.startedAt ?? '')).toBe(60_000)
  })

  it('does not fail what nobody could ask about: it may be done, and here it is', async () => {
    let answer: QueryOutcome = away
    const server = await serve({ query: () => answer }, { deadlineMs: 50 })
    const task = await create(server)
    await until(async () => {
      await pollNow(server)
      expect(server.provider.queries.length).toBeGreaterThanOrEqual(3)
    })
    expect(await get(server, task)).toMatchObject({ status: 'running', failure: null })
    answer = { kind: 'succeeded', outputs: [] }
    await until(async () => {
      await pollNow(server)
      expect((await get(server, task)).status).toBe('completed')
    })
  })
})

describe('the watchdog, through the API (Q4)', () => {
  it('alerts when nothing is heard of a task for too long, polls once more, and then fails it', async () => {
    const server = await serve({ query: () => away }, { silentAfterMs: 60_000 })
    const task = await create(server)
    await untilStatus(server, task, 'running')
    await until(async () => {
      await pollNow(server)
      expect(server.provider.queries.length).toBeGreaterThanOrEqual(1)
    })
    const longer = (ms: number) => server.sql`
      update holdfast.work set silent_since = silent_since - ${ms}::float8 * interval '1 ms' where silent_since is not null
    `
    await until(async () => expect((await longer(0)).count).toBe(1))
    await longer(61_000)
    const before = server.provider.queries.length
    await until(async () => {
      expect(server.logLines.some((line) => line.includes('CRITICAL') && line.includes(task.id))).toBe(true)
      expect(server.provider.queries.length).toBeGreaterThan(before)
    })
    expect((await get(server, task)).status).toBe('running')
    await longer(5 * 60_000)
    await untilStatus(server, task, 'failed')
    expect((await get(server, task)).failure).toEqual({
      code: 'SILENT_TOO_LONG',
      message: expect.stringContaining('timed out'),
      retryable: true,
    })
  })
})

describe('waiting, through the API', () => {
  it('has its own limit, with a reason that the user can read', async () => {
    const server = await serve(
      { create: () => ({ kind: 'not-accepted', reason: 'full', retryAfterMs: 20 }) },
      { waitLimitMs: 300 },
    )
    const task = await create(server)
    await untilStatus(server, task, 'failed')
    expect((await get(server, task)).failure).toEqual({
      code: 'WAIT_EXCEEDED',
      message: expect.stringContaining('waited too long'),
      retryable: true,
      deadLettered: true,
    })
    expect(server.provider.creates.length).toBeGreaterThanOrEqual(1)
  })
})

describe('attempts, through the API (F16, Q6)', () => {
  it.each([1, 2])('a task that may be tried %i times is', async (maxAttempts) => {
    const server = await serve({
      create: () => ({ kind: 'refused', code: 'SUBMIT_REFUSED', message: 'Not today.', retryable: true }),
    })
    const task = await create(server, { maxAttempts })
    await untilStatus(server, task, 'failed')
    expect(server.provider.creates).toHaveLength(maxAttempts)
    expect((await get(server, task)).failure).toEqual({
      code: 'SUBMIT_REFUSED',
      message: 'Not today.',
      retryable: true,
      deadLettered: true,
    })
  })
})

describe('a task by the id that its provider gave it, through the API (F16)', () => {
  it('is found by its user, and by nobody else', async () => {
    const server = await serve({})
    const task = await create(server)
    await create(server)
    await untilStatus(server, task, 'running')
    const find = async (userId: string) =>
      (await server.as(userId)<{ tasks: Task[] }>('GET', `/v1/tasks?externalId=external-${task.id}`)).body
        .tasks
    expect((await find('ada')).map(({ id }) => id)).toEqual([task.id])
    expect(await find('bob')).toEqual([])
  })
})

describe('a user over their rate limit, through the API (E3)', () => {
  it('gets 429 with Retry-After, others do not, and once that has passed they may again', async () => {
    const server = await serve({}, {}, 2)
    const post = (userId: string) => server.as(userId)<Problem>('POST', '/v1/tasks', { json: fox })
    // One of the two leaves the minute shortly.
    await askedFor(server.sql, 'ada', 57_500)
    expect((await post('ada')).status).toBe(201)
    const began = performance.now()
    const refused = await post('ada')
    expect(refused).toMatchObject(problem('RATE_LIMITED', 429))
    expect(refused.body.detail).toContain('At most 2 tasks a minute')
    const retryAfter = Number(refused.headers.get('retry-after'))
    expect(retryAfter).toBeGreaterThanOrEqual(1)
    expect(retryAfter).toBeLessThanOrEqual(3)
    expect((await post('bob')).status).toBe(201)

    const statuses: number[] = []
    await until(async () => {
      statuses.push((await post('ada')).status)
      expect(statuses.at(-1)).toBe(201)
    })
    expect(new Set(statuses.slice(0, -1))).toEqual(new Set([429]))
    // It had to be waited for, and no longer than was said, give or take a slow machine.
    expect(performance.now() - began).toBeLessThan(retryAfter * 1000 + 3_000)
  })

  it('holds for retries as well', async () => {
    const server = await serve({}, {}, 1)
    const task = await create(server)
    await server.as('ada')('POST', `/v1/tasks/${task.id}/cancel`)
    const retried = await server.as('ada')('POST', `/v1/tasks/${task.id}/retry`)
    expect(retried).toMatchObject(problem('RATE_LIMITED', 429))
    expect(Number(retried.headers.get('retry-after'))).toBeGreaterThan(30)
  })
})
