import type { SyncAnswer, Task } from '@holdfast/shared'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readEvents } from '../../test/read-events.ts'
import { scriptedTypes } from '../../test/scripted-types.ts'
import { problem, startTestHoldfast, type TestHoldfast } from '../../test/test-holdfast.ts'
import { signToken } from '../../test/test-tokens.ts'
import type { TaskType } from '../tasks/task-types.ts'

const KEY = 'a-service-key-of-at-least-32-characters'
const PROVIDER = 'sized'

let test: TestHoldfast
beforeAll(async () => {
  test = await startTestHoldfast({
    script: { name: PROVIDER },
    types: {
      ...scriptedTypes(PROVIDER),
      small: scriptedTypes(PROVIDER, { maxParamsBytes: 1_024 }).image as TaskType,
    },
    serviceKeys: [KEY],
    tasksPerMinute: 1_000,
    unfinishedTasks: (plan) => (plan === 'pro' ? 3 : 2),
  })
})
afterAll(() => test.stop())

const submit = (userId: string, params: object, more: object = {}) =>
  test.as(userId)<{ task: Task }>('POST', '/v1/tasks', { json: { type: 'image', params, ...more } })
const detailOf = ({ body }: { body: unknown }) => (body as { detail: string }).detail

describe('the size of a task', () => {
  it('is limited by its type, 64 kB of parameters unless that says otherwise', async () => {
    expect((await submit('ada', { prompt: 'x'.repeat(65_000) })).status).toBe(201)
    const large = await submit('ada', { prompt: 'x'.repeat(65_600) })
    expect(large).toMatchObject(problem('INVALID_PARAMS', 400))
    expect(detailOf(large)).toContain('64 kB')
    // Bytes, not letters.
    expect(await submit('ada', { prompt: '狐'.repeat(22_000) })).toMatchObject(problem('INVALID_PARAMS', 400))
    const small = await submit('ada', { prompt: 'x'.repeat(1_100) }, { type: 'small' })
    expect(small).toMatchObject(problem('INVALID_PARAMS', 400))
  })

  it('and so is its metadata, by 4 kB', async () => {
    expect((await submit('bea', { prompt: 'x' }, { metadata: { note: 'x'.repeat(4_000) } })).status).toBe(201)
    const large = await submit('bea', { prompt: 'x' }, { metadata: { note: 'x'.repeat(4_100) } })
    expect(large).toMatchObject(problem('INVALID_REQUEST', 400))
    expect(detailOf(large)).toContain('metadata')
    expect(await test.sql`select from holdfast.tasks where user_id = 'bea'`).toHaveLength(1)
  })

  it('lists, sync and streams carry long parameters in short, the task itself carries all', async () => {
    const params = { prompt: 'a long story '.repeat(1_000), seed: 7 }
    const { body } = await submit('cy', params)
    expect(body.task.params).toEqual(params)
    const short = { params: { prompt: params.prompt.slice(0, 500), seed: 7 }, paramsOmitted: true }
    const list = await test.as('cy')<{ tasks: Task[] }>('GET', '/v1/tasks')
    expect(list.body.tasks).toMatchObject([short])
    const first = await test.as('cy')<SyncAnswer>('POST', '/v1/sync', { json: {} })
    expect(first.body.tasks).toMatchObject([short])
    const later = await test.as('cy')<SyncAnswer>('POST', '/v1/sync', { json: { cursor: '1' } })
    expect(later.body.tasks).toMatchObject([short])
    const stream = readEvents(await test.openStream('cy'))
    expect(await stream.next()).toMatchObject({ event: 'snapshot', data: { tasks: [short] } })
    await stream.cancel()

    const whole = await test.as('cy')<{ task: Task }>('GET', `/v1/tasks/${body.task.id}`)
    expect(whole.body.task.params).toEqual(params)
    expect(whole.body.task).not.toHaveProperty('paramsOmitted')
  })

  it('short ones are carried as they are', async () => {
    await submit('di', { prompt: 'x'.repeat(4_000) })
    const list = await test.as('di')<{ tasks: Task[] }>('GET', '/v1/tasks')
    expect(list.body.tasks[0]?.params.prompt).toHaveLength(4_000)
    expect(list.body.tasks[0]).not.toHaveProperty('paramsOmitted')
  })

  it('a retry has all of them again', async () => {
    const params = { prompt: 'x'.repeat(20_000) }
    const { body } = await submit('ed', params)
    await test.as('ed')('POST', `/v1/tasks/${body.task.id}/cancel`)
    const again = await test.as('ed')<{ task: Task }>('POST', `/v1/tasks/${body.task.id}/retry`)
    expect(again.body.task.params).toEqual(params)
    const list = await test.as('ed')<{ tasks: Task[] }>('GET', '/v1/tasks')
    expect(list.body.tasks).toMatchObject([{ id: again.body.task.id, paramsOmitted: true }])
  })
})

describe('unfinished tasks of one user', () => {
  const image = { type: 'image', params: { prompt: 'a fox' } }

  it('are limited, by plan', async () => {
    expect((await submit('flo', image.params)).status).toBe(201)
    const { body } = await submit('flo', image.params)
    const refused = await submit('flo', image.params)
    expect(refused).toMatchObject(problem('TOO_MANY_UNFINISHED', 429))
    expect(refused.headers.get('retry-after')).toBe('15')
    const token = await signToken('flo', { app_metadata: { plan: 'pro' } })
    const asPro = () =>
      test.call('POST', '/v1/tasks', { json: image, headers: { authorization: `Bearer ${token}` } })
    expect((await asPro()).status).toBe(201)
    expect(await asPro()).toMatchObject(problem('TOO_MANY_UNFINISHED', 429))
    // A user who cancels one has room again, also for a retry.
    await test.as('flo')('POST', `/v1/tasks/${body.task.id}/cancel`)
    const retry = () =>
      test.call('POST', `/v1/tasks/${body.task.id}/retry`, { headers: { authorization: `Bearer ${token}` } })
    expect((await retry()).status).toBe(201)
    expect(await retry()).toMatchObject(problem('TOO_MANY_UNFINISHED', 429))
  })

  it('are not, for the app’s own backend', async () => {
    for (let n = 0; n < 4; n += 1) {
      const made = await test.call('POST', '/v1/tasks', {
        json: { ...image, userId: 'gus' },
        headers: { authorization: `Bearer ${KEY}` },
      })
      expect(made.status).toBe(201)
    }
    expect(await submit('gus', image.params)).toMatchObject(problem('TOO_MANY_UNFINISHED', 429))
  })
})

describe('many creates of one user at the same moment', () => {
  it('hold one connection, and nobody else up', async () => {
    const settled: number[] = []
    await test.sql.begin(async (tx) => {
      // As if one of them took very long.
      await tx`select pg_advisory_xact_lock(hashtextextended('holdfast:user:hal', 0))`
      const creates = Array.from({ length: 140 }, () =>
        submit('hal', { prompt: 'a fox' }).then(({ status }) => settled.push(status)),
      )
      // With a connection each, the pool would be used up and this would wait for ever.
      expect((await submit('ida', { prompt: 'a fox' })).status).toBe(201)
      // What cannot even wait is told so at once.
      expect(settled.every((status) => status === 429)).toBe(true)
      void Promise.all(creates)
    })
    await expect.poll(() => settled.length, { timeout: 15_000 }).toBe(140)
    expect(settled.filter((status) => status === 201)).toHaveLength(2)
    expect(settled.filter((status) => status === 429)).toHaveLength(138)
  })
})

describe('all that the limits allow one user', () => {
  it('is less than 1.5 MB in a list, in sync and in the first state of a stream', async () => {
    const most = await startTestHoldfast({ tasksPerMinute: 1_000 })
    try {
      const call = most.as('max')
      const bodies = [
        { params: { prompt: '狐'.repeat(21_000) }, metadata: { note: 'x'.repeat(4_080) } },
        {
          params: { prompt: 'x', list: Array.from({ length: 9_000 }, (_, n) => n) },
          metadata: { note: 'x'.repeat(4_080) },
        },
        { params: { prompt: 'x'.repeat(4_070) }, metadata: { note: 'x'.repeat(1_490) } },
        { params: { prompt: '\u0001'.repeat(10_000) }, metadata: { note: '\u0001'.repeat(670) } },
      ]
      // A hundred that have ended, and then a hundred that have not.
      for (const isEnded of [true, false]) {
        for (let n = 0; n < 100; n += 1) {
          const json = { type: 'image', ...bodies[n % bodies.length] }
          expect((await call('POST', '/v1/tasks', { json })).status).toBe(201)
        }
        if (isEnded) {
          await most.sql`
            update holdfast.tasks set status = 'failed', finished_at = now(), failure_code = 'PROVIDER_FAILED',
              failure_message = ${'x'.repeat(500)}, failure_retryable = true
          `
        }
      }
      expect(
        await call('POST', '/v1/tasks', { json: { type: 'image', params: { prompt: 'x' } } }),
      ).toMatchObject(problem('TOO_MANY_UNFINISHED', 429))
      const sizeOf = (answer: { body: unknown }) => Buffer.byteLength(JSON.stringify(answer.body))
      const list = await call<{ tasks: Task[] }>('GET', '/v1/tasks?status=all&limit=200')
      expect(list.body.tasks).toHaveLength(200)
      expect(sizeOf(list)).toBeLessThan(1_500_000)
      const sync = await call<SyncAnswer>('POST', '/v1/sync', { json: {} })
      expect(sync.body.tasks).toHaveLength(200)
      expect(sizeOf(sync)).toBeLessThan(1_500_000)
      const stream = readEvents(await most.openStream('max'))
      const snapshot = await stream.next()
      expect(Buffer.byteLength(JSON.stringify(snapshot))).toBeLessThan(1_500_000)
      await stream.cancel()
    } finally {
      await most.stop()
    }
  }, 60_000)
})
