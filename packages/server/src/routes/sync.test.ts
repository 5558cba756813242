import type { SyncAnswer, Task } from '@holdfast/shared'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeRunningTask, makeTask } from '../../test/make-task.ts'
import { settleTask } from '../../test/settle-task.ts'
import { startTestHoldfast, type TestHoldfast } from '../../test/test-holdfast.ts'

let server: TestHoldfast
beforeAll(async () => {
  server = await startTestHoldfast()
})
afterAll(() => server.stop())

const sync = async (userId: string, json: unknown = {}) =>
  (await server.as(userId)<SyncAnswer>('POST', '/v1/sync', { json })).body
const knownOf = (tasks: Task[]) =>
  Object.fromEntries(tasks.map((task) => [task.id, [task.version, task.progress]]))

describe('POST /v1/sync', () => {
  it('brings a device up to date in one request, and then only what is new', async () => {
    const first = await makeRunningTask(server.sql, { userId: 'ada' })
    const second = await makeTask(server.sql, { userId: 'ada' })
    const start = await sync('ada')
    expect(start).toMatchObject({
      gone: [],
      cursor: expect.stringMatching(/^[0-9a-f]+\.\d+\.\d+$/),
      now: expect.any(String),
    })
    expect(start.tasks.map(({ id }) => id)).toEqual([first.id, second.id].sort())

    await settleTask(server.sql, first.id, { status: 'completed', outputs: [] })
    const next = await sync('ada', { known: knownOf(start.tasks), cursor: start.cursor })
    expect(next.tasks).toMatchObject([{ id: first.id, status: 'completed', result: { outputs: [] } }])
    expect(
      (await sync('ada', { known: knownOf([...start.tasks, ...next.tasks]), cursor: next.cursor })).tasks,
    ).toEqual([])
  })

  it('delivers a transaction that was slow to commit with the next sync', async () => {
    const task = await makeRunningTask(server.sql, { userId: 'bob' })
    const start = await sync('bob')
    const held: { answer?: SyncAnswer } = {}
    await server.sql.begin(async (tx) => {
      await tx`update holdfast.tasks set progress = 42 where id = ${task.id}`
      await makeTask(server.sql, { userId: 'bob' })
      held.answer = await sync('bob', { cursor: start.cursor, known: knownOf(start.tasks) })
    })
    expect(held.answer?.tasks).toHaveLength(1)
    const next = await sync('bob', {
      cursor: held.answer?.cursor,
      known: knownOf([...start.tasks, ...(held.answer?.tasks ?? [])]),
    })
    expect(next.tasks).toMatchObject([{ id: task.id, progress: 42 }])
  })

  it('tells what is gone, and takes a cursor of another cluster as none', async () => {
    const STRANGER = '0199d2a0-0000-7000-8000-000000000001'
    const task = await makeTask(server.sql, { userId: 'cy' })
    const answer = await sync('cy', { known: { [STRANGER]: [7, 50] }, cursor: '9999999999999999999' })
    expect(answer.gone).toEqual([STRANGER])
    expect(answer.tasks.map(({ id }) => id)).toEqual([task.id])
  })

  it('takes 2000 known tasks at once, with versions of any size', async () => {
    const known = Object.fromEntries(
      Array.from({ length: 2000 }, (_, n) => [
        `0199d2a0-0000-7000-8000-${String(n).padStart(12, '0')}`,
        [Number.MAX_SAFE_INTEGER, 100],
      ]),
    )
    expect((await sync('dan', { known })).gone).toHaveLength(2000)
  })
})
