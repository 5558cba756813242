import type { Task } from '@holdfast/shared'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeRunningTask, makeTask } from '../../test/make-task.ts'
import { setProgress } from '../../test/set-progress.ts'
import { settleTask } from '../../test/settle-task.ts'
import { startTestHoldfast, type TestHoldfast } from '../../test/test-holdfast.ts'
import { createMemoryHot } from '../hot/memory-hot.ts'

const hot = createMemoryHot()
let server: TestHoldfast
beforeAll(async () => {
  server = await startTestHoldfast({ hot })
})
afterAll(() => server.stop())

const list = (userId: string, tag?: string | null, query = '') =>
  server.as(userId)<{ tasks: Task[] }>(
    'GET',
    `/v1/tasks${query}`,
    tag ? { headers: { 'if-none-match': tag } } : {},
  )

describe('the list of unfinished tasks, asked again and again', () => {
  it('C4: is 304 until something changes, whatever changes', async () => {
    const first = await makeRunningTask(server.sql, { userId: 'ada' })
    let { headers, status } = await list('ada')
    expect(status).toBe(200)
    const changes: (() => Promise<unknown>)[] = [
      () => makeTask(server.sql, { userId: 'ada' }),
      () => setProgress(server.sql, first.id, 10),
      () => hot.write([{ userId: 'ada', taskId: first.id, progress: 11 }]),
      () => settleTask(server.sql, first.id, { status: 'completed', outputs: [] }),
    ]
    for (const change of changes) {
      const tag = headers.get('etag')
      expect(tag).toMatch(/^"[\w-]+"$/)
      expect(headers.get('cache-control')).toBe('private, no-cache')
      const same = await list('ada', tag)
      expect(same).toMatchObject({ status: 304, body: null })
      expect(same.headers.get('etag')).toBe(tag)
      await change()
      ;({ headers, status } = await list('ada', tag))
      expect(status).toBe(200)
    }
  })

  it('pages have tags of their own, and a page that is no longer the last has another', async () => {
    for (let n = 0; n < 2; n += 1) await makeTask(server.sql, { userId: 'bob' })
    const two = (await list('bob', null, '?limit=2')).headers.get('etag')
    await makeTask(server.sql, { userId: 'bob' })
    expect((await list('bob', two, '?limit=2')).status).toBe(200)
    expect((await list('bob', two, '?cursor=nonsense')).status).toBe(400)
  })

  it('what has ended is never answered with 304: its URLs are new each time', async () => {
    const tag = (await list('cy')).headers.get('etag')
    for (const query of ['?status=all', '?status=settled']) {
      const answer = await list('cy', tag, query)
      expect(answer.status).toBe(200)
      expect(answer.headers.get('etag')).toBeNull()
    }
  })

  it('Q3: shows the higher of row and hot, everywhere', async () => {
    const { id } = await makeRunningTask(server.sql, { userId: 'dan' })
    const call = server.as('dan')
    const shown = async () => [
      (await list('dan')).body.tasks[0]?.progress,
      (await call<{ task: Task }>('GET', `/v1/tasks/${id}`)).body.task.progress,
      (await call<{ tasks: Task[] }>('POST', '/v1/sync', { json: {} })).body.tasks[0]?.progress,
    ]
    await hot.write([{ userId: 'dan', taskId: id, progress: 40 }])
    expect(await shown()).toEqual([40, 40, 40])
    await setProgress(server.sql, id, 60)
    expect(await shown()).toEqual([60, 60, 60])
    // What ends unfinished stays as far as it was shown to be.
    await hot.write([{ userId: 'dan', taskId: id, progress: 77 }])
    const { body } = await call<{ task: Task }>('POST', `/v1/tasks/${id}/cancel`)
    expect(body.task).toMatchObject({ status: 'cancelled', progress: 77 })
  })

  it('sync brings progress that is only hot, once', async () => {
    const { id } = await makeRunningTask(server.sql, { userId: 'eve' })
    const sync = async (json: unknown) =>
      (await server.as('eve')<{ tasks: Task[]; cursor: string }>('POST', '/v1/sync', { json })).body
    const start = await sync({})
    const [task] = start.tasks
    await hot.write([{ userId: 'eve', taskId: id, progress: 12 }])
    const next = await sync({ cursor: start.cursor, known: { [id]: [task?.version, task?.progress] } })
    expect(next.tasks).toMatchObject([{ id, progress: 12, version: task?.version }])
    const last = await sync({ cursor: next.cursor, known: { [id]: [task?.version, 12] } })
    expect(last.tasks).toEqual([])
  })
})
