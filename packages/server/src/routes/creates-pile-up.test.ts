import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { type Answer, startTestHoldfast, type TestHoldfast } from '../../test/test-holdfast.ts'

/** As many as may wait in one process. */
const MOST = 1_000

let server: TestHoldfast
beforeAll(async () => {
  server = await startTestHoldfast()
})
afterAll(() => server.stop())

it('creates wait in a bounded queue: those beyond it are told when to come again, and none that waits is lost', async () => {
  const create = (user: string) =>
    server.asApp(user)('POST', '/v1/tasks', { json: { type: 'image', params: { prompt: 'a fox' } } })
  const held = await server.sql.reserve()
  const waiting: Promise<Answer>[] = []
  let answered = 0
  try {
    await held`begin`
    await held`lock table holdfast.tasks in access exclusive mode`
    for (let index = 0; index < MOST + 5; index++) {
      waiting.push(
        create(`user-${index}`).finally(() => {
          answered += 1
        }),
      )
    }
    await vi.waitFor(() => expect(answered).toBe(5), { timeout: 15_000 })
    const refused = await create('one more')
    expect(refused).toMatchObject({ status: 503, body: { code: 'UNAVAILABLE' } })
    expect(refused.headers.get('retry-after')).toBe('1')
    await held`commit`
  } finally {
    held.release()
  }
  const statuses = (await Promise.all(waiting)).map(({ status }) => status)
  expect(statuses.filter((status) => status === 201)).toHaveLength(MOST)
  expect(statuses.filter((status) => status === 503)).toHaveLength(5)
  expect(await server.sql`select count(*)::int from holdfast.tasks`).toEqual([{ count: MOST }])
  // There is room again.
  expect((await create('later')).status).toBe(201)
}, 60_000)
