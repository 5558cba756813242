import type { Problem, Task } from '@holdfast/shared'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { problem, startTestHoldfast, type TestHoldfast } from '../../test/test-holdfast.ts'

/** As many as may wait in a process. */
const MOST_WAITING = 1_000
const TOO_MANY = 50

let server: TestHoldfast
beforeAll(async () => {
  server = await startTestHoldfast({ tasksPerMinute: 1_000_000, unfinishedTasks: 1_000_000 })
})
afterAll(() => server.stop())

const fox = { type: 'image', params: { prompt: 'a fox' } }

describe('creates that come faster than they can be made', () => {
  it('wait, and beyond a thousand are told to come again, and none is lost', async () => {
    const submit = (n: number) =>
      server.as(`user-${n % 100}`)<{ task: Task } & Problem>('POST', '/v1/tasks', { json: fox })
    const asked: ReturnType<typeof submit>[] = []
    let countRefused = 0
    await server.sql.begin(async (tx) => {
      // Nothing can be made while this is held.
      await tx`lock table holdfast.tasks in access exclusive mode`
      await new Promise<void>((resolve) => {
        for (let n = 0; n < MOST_WAITING + TOO_MANY; n += 1) {
          asked.push(submit(n))
          void asked.at(-1)?.then(({ status }) => {
            if (status !== 201) countRefused += 1
            if (countRefused === TOO_MANY) resolve()
          })
        }
      })
    })
    const answers = await Promise.all(asked)

    const made = answers.filter(({ status }) => status === 201)
    expect(made).toHaveLength(MOST_WAITING)
    for (const answer of answers) {
      if (answer.status === 201) continue
      expect(answer).toMatchObject(problem('UNAVAILABLE', 503))
      expect(answer.headers.get('retry-after')).toBe('1')
    }
    const rows = await server.sql<{ id: string }[]>`select id from holdfast.tasks`
    expect(rows.map(({ id }) => id).toSorted()).toEqual(made.map(({ body }) => body.task.id).toSorted())
    // There is room again.
    expect((await submit(0)).status).toBe(201)
  })
})
