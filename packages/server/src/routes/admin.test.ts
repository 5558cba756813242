import type { Task } from '@holdfast/shared'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { type Call, problem, startTestHoldfast, type TestHoldfast } from '../../test/test-holdfast.ts'
import { signToken } from '../../test/test-tokens.ts'
import type { DeadLetter } from '../dead-letters/dead-letters.ts'

let server: TestHoldfast
const takes = { tasks: false }
beforeAll(async () => {
  server = await startTestHoldfast({
    engineRuns: true,
    script: {
      create: ({ taskId }) =>
        takes.tasks
          ? { kind: 'accepted', externalId: `external-${taskId}` }
          : { kind: 'refused', code: 'PROVIDER_QUOTA', message: 'Out of credit.', retryable: true },
    },
  })
})
afterAll(() => server.stop())

const admin: Call = async (method, path, given) =>
  server.call(method, path, {
    ...given,
    headers: {
      authorization: `Bearer ${await signToken('root', { app_metadata: { role: 'admin' } })}`,
      ...given?.headers,
    },
  })
const list = async (query = '') =>
  (
    await admin<{ deadLetters: (Omit<DeadLetter, 'createdAt'> & { createdAt: string })[] }>(
      'GET',
      `/v1/admin/dead-letters${query}`,
    )
  ).body.deadLetters

/** A task of a user whose only attempt was refused, and the letter that this left. */
async function givenUp(userId: string) {
  takes.tasks = false
  const { body } = await server.asApp(userId)<{ task: Task }>('POST', '/v1/tasks', {
    json: { type: 'image', params: { prompt: 'a fox' }, maxAttempts: 1, placeholderId: 'p-1' },
  })
  return vi.waitFor(
    async () => {
      const letter = (await list()).find(({ taskId }) => taskId === body.task.id)
      if (!letter) throw new Error('not given up yet')
      return { task: body.task, letter }
    },
    { timeout: 10_000, interval: 10 },
  )
}

describe('dead letters, for administrators (Q6, E7)', () => {
  it('attempts spent: the task fails, and an administrator sees why', async () => {
    const { task, letter } = await givenUp('ada')
    expect(letter).toMatchObject({
      taskId: task.id,
      userId: 'ada',
      kind: 'send',
      provider: server.provider.name,
      lane: 'free_default',
      attempts: 1,
      reason: 'PROVIDER_QUOTA: Out of credit.',
      createdAt: expect.stringMatching(/^\d{4}-/),
    })
    const { body } = await server.as('ada')<{ task: Task }>('GET', `/v1/tasks/${task.id}`)
    expect(body.task).toMatchObject({
      status: 'failed',
      failure: { code: 'PROVIDER_QUOTA', retryable: true },
    })
  })

  it('are retried as a new task of its user, which goes its way', async () => {
    const { task, letter } = await givenUp('ada')
    takes.tasks = true
    const { status, body } = await admin<{ task: Task }>('POST', `/v1/admin/dead-letters/${letter.id}/retry`)
    expect(status).toBe(201)
    expect(body.task).toMatchObject({ retryOf: task.id, placeholderId: 'p-1', params: { prompt: 'a fox' } })
    await vi.waitFor(
      async () => {
        const { body: seen } = await server.as('ada')<{ task: Task }>('GET', `/v1/tasks/${body.task.id}`)
        expect(seen.task.status).toBe('running')
      },
      { timeout: 10_000, interval: 10 },
    )
    expect((await list()).map(({ id }) => id)).not.toContain(letter.id)
    const again = await admin<{ task: Task }>('POST', `/v1/admin/dead-letters/${letter.id}/retry`)
    expect(again.body.task.id).toBe(body.task.id)
    expect(server.provider.creates.filter(({ taskId }) => taskId === body.task.id)).toHaveLength(1)
  })

  it('are discarded for good', async () => {
    const { letter } = await givenUp('bob')
    expect(await admin('POST', `/v1/admin/dead-letters/${letter.id}/discard`)).toMatchObject({
      status: 200,
      body: { discarded: true },
    })
    expect((await list()).map(({ id }) => id)).not.toContain(letter.id)
    expect(await admin('POST', `/v1/admin/dead-letters/${letter.id}/retry`)).toMatchObject(
      problem('TASK_NOT_RETRYABLE', 409),
    )
  })

  it('are listed newest first, from a letter on', async () => {
    const { letter: first } = await givenUp('ada')
    const { letter: second } = await givenUp('ada')
    expect((await list()).slice(0, 2).map(({ id }) => id)).toEqual([second.id, first.id])
    expect((await list(`?cursor=${second.id}`))[0]?.id).toBe(first.id)
    expect(await admin('GET', '/v1/admin/dead-letters?cursor=x')).toMatchObject(
      problem('INVALID_REQUEST', 400),
    )
  })

  it('that are not there are not found', async () => {
    for (const id of ['x', '01a1e29c-8b2e-7a51-8bd0-bb5fa7e2c861'])
      for (const what of ['retry', 'discard'])
        expect(await admin('POST', `/v1/admin/dead-letters/${id}/${what}`)).toMatchObject(
          problem('NOT_FOUND', 404),
        )
  })

  it('are nobody else’s business: 403, and 401 without a token', async () => {
    const { letter } = await givenUp('ada')
    const ways = [
      ['GET', '/v1/admin/dead-letters'],
      ['POST', `/v1/admin/dead-letters/${letter.id}/retry`],
      ['POST', `/v1/admin/dead-letters/${letter.id}/discard`],
    ] as const
    for (const [method, path] of ways) {
      expect(await server.as('ada')(method, path)).toMatchObject(problem('FORBIDDEN', 403))
      expect(await server.call(method, path)).toMatchObject(problem('UNAUTHENTICATED', 401))
      // What users may write about themselves makes nobody an administrator.
      const token = await signToken('ada', { user_metadata: { role: 'admin' }, role: 'admin' })
      const headers = { authorization: `Bearer ${token}` }
      expect(await server.call(method, path, { headers })).toMatchObject(problem('FORBIDDEN', 403))
    }
    expect((await list()).map(({ id }) => id)).toContain(letter.id)
  })
})
