import type { StreamEvents, SyncAnswer, Task } from '@holdfast/shared'
import { isNewer } from '@holdfast/shared'
import { afterEach, expect, it, vi } from 'vitest'
import { readEvents } from '../../test/read-events.ts'
import { startTestHoldfast, type TestHoldfast } from '../../test/test-holdfast.ts'
import type { QueryOutcome } from '../providers/provider.ts'

let server: TestHoldfast | undefined
afterEach(async () => {
  await server?.stop()
  server = undefined
})

it('a task’s place in the provider’s queue comes by stream and by sync, up or down, and goes when it runs or ends', async () => {
  let answer: QueryOutcome = { kind: 'running', progress: null, queuePosition: 5 }
  server = await startTestHoldfast({
    engineRuns: true,
    engine: { progressEveryMs: 50 },
    script: { query: () => answer },
  })
  const { as, openStream } = server
  const events = readEvents(await openStream('ada'))
  const first = await events.next()
  const { body } = await as('ada')<{ task: Task }>('POST', '/v1/tasks', {
    json: { type: 'image', params: { prompt: 'a fox' } },
  })
  expect(body.task.queuePosition).toBeNull()
  const { id } = body.task

  let newest: Task | undefined
  /** Takes over what a client would, until it shows what is wanted. */
  const until = async (isWanted: (task: Task) => boolean) => {
    for (;;) {
      const { task } = (await events.until('task')).data as StreamEvents['task']
      if (isNewer(task, newest)) newest = task
      if (newest && isWanted(newest)) return newest
    }
  }
  await until(({ queuePosition }) => queuePosition === 5)
  answer = { kind: 'running', progress: null, queuePosition: 9 }
  const moved = await until(({ queuePosition }) => queuePosition === 9)
  expect(moved).toMatchObject({ status: 'running', progress: null })

  const synced = await as('ada')<SyncAnswer>('POST', '/v1/sync', {
    json: { known: { [id]: [moved.version - 1, null] }, cursor: first.id },
  })
  expect(synced.body.tasks).toMatchObject([{ id, queuePosition: 9 }])

  answer = { kind: 'running', progress: 3 }
  await until(({ queuePosition, progress }) => queuePosition === null && progress === 3)

  answer = { kind: 'running', progress: null, queuePosition: 1 }
  await until(({ queuePosition }) => queuePosition === 1)
  answer = { kind: 'cancelled' }
  expect(await until(({ status }) => status === 'cancelled')).toMatchObject({ queuePosition: null })
  expect((await as('ada')<{ task: Task }>('GET', `/v1/tasks/${id}`)).body.task.queuePosition).toBeNull()
  await events.cancel()
})

it('a place that does not change is told and written once', async () => {
  server = await startTestHoldfast({
    engineRuns: true,
    engine: { progressEveryMs: 1 },
    script: { query: () => ({ kind: 'running', progress: null, queuePosition: 5 }) },
  })
  const { as, provider, openStream } = server
  const events = readEvents(await openStream('ada'))
  const { body } = await as('ada')<{ task: Task }>('POST', '/v1/tasks', {
    json: { type: 'image', params: { prompt: 'a fox' } },
  })
  const get = async () => (await as('ada')<{ task: Task }>('GET', `/v1/tasks/${body.task.id}`)).body.task
  await vi.waitFor(async () => expect((await get()).queuePosition).toBe(5), { timeout: 10_000 })
  const { version } = await get()
  const polls = provider.queries.length
  await vi.waitFor(() => expect(provider.queries.length).toBeGreaterThan(polls + 20), { timeout: 10_000 })
  expect((await get()).version).toBe(version)
  await events.cancel()
})
