import type { Task } from '@holdfast/shared'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { findCreditViolations } from '../../../test/credit-rules.ts'
import { createScriptedProvider, type Script } from '../../../test/scripted-provider.ts'
import { scriptedTypes } from '../../../test/scripted-types.ts'
import {
  startTestHoldfast,
  type TestHoldfast,
  type TestHoldfastOptions,
} from '../../../test/test-holdfast.ts'
import type { TaskType } from '../../tasks/task-types.ts'

let server: TestHoldfast | undefined
afterEach(async () => {
  if (server) expect(await findCreditViolations(server.sql)).toEqual([])
  await server?.stop()
  server = undefined
})

async function start(
  script: Script,
  { type = {}, ...options }: TestHoldfastOptions & { type?: Partial<TaskType> } = {},
): Promise<TestHoldfast> {
  const provider = createScriptedProvider({ limits: { notFoundGraceMs: 0 }, ...script })
  server = await startTestHoldfast({
    engineRuns: true,
    providers: [provider],
    types: scriptedTypes(provider.name, { credits: 4, ...type }),
    credits: { initial: 10 },
    engine: { sweepEveryMs: 50, leaseMarginMs: 200 },
    ...options,
  })
  return server
}

async function submit(on: TestHoldfast): Promise<string> {
  const { body } = await on.asApp('ada')<{ task: Task }>('POST', '/v1/tasks', {
    json: { type: 'image', params: { prompt: 'a fox' }, maxAttempts: 1 },
  })
  return body.task.id
}
const find = async (on: TestHoldfast, id: string) =>
  (await on.as('ada')<{ task: Task }>('GET', `/v1/tasks/${id}`)).body.task
const credits = (on: TestHoldfast) => on.holdfast.credits.balance('ada')
/** Until something is so; polls, which would come in half a minute, are made at once. */
const until = (on: TestHoldfast, check: () => Promise<void>) =>
  vi.waitFor(
    async () => {
      await on.sql`update holdfast.work set due_at = now() where kind = 'poll' and due_at > now() + interval '1 s'`
      await check()
    },
    { timeout: 15_000, interval: 20 },
  )

describe('however a task fails, its credits come back by themselves (F6, F13)', () => {
  it.each<[string, Script, Partial<TaskType>]>([
    [
      'SUBMIT_REFUSED',
      { create: () => ({ kind: 'refused', code: 'SUBMIT_REFUSED', message: 'no', retryable: false }) },
      {},
    ],
    [
      'PROVIDER_QUOTA',
      { create: () => ({ kind: 'refused', code: 'PROVIDER_QUOTA', message: 'later', retryable: true }) },
      {},
    ],
    ['SUBMIT_UNKNOWN', { create: () => ({ kind: 'unknown', reason: 'lost' }) }, {}],
    [
      'PROVIDER_FAILED',
      { query: () => ({ kind: 'failed', code: 'PROVIDER_FAILED', message: 'no', retryable: true }) },
      {},
    ],
    ['TASK_NOT_FOUND', { query: () => ({ kind: 'not-found' }) }, {}],
    ['DEADLINE_EXCEEDED', { query: () => ({ kind: 'running', progress: 5 }) }, { deadlineMs: 1 }],
    [
      'WAIT_EXCEEDED',
      { create: () => ({ kind: 'not-accepted', reason: 'busy', retryAfterMs: 60_000 }) },
      { waitLimitMs: 1 },
    ],
  ])('%s', async (code, script, type) => {
    const on = await start(script, { type })
    const id = await submit(on)
    await until(on, async () =>
      expect(await find(on, id)).toMatchObject({ status: 'failed', failure: { code } }),
    )
    expect(await credits(on)).toEqual({ balance: 10, held: 0 })
  })

  it('and when the provider cancels it', async () => {
    const on = await start({ query: () => ({ kind: 'cancelled' }) })
    const id = await submit(on)
    await until(on, async () => expect(await find(on, id)).toMatchObject({ status: 'cancelled' }))
    expect(await credits(on)).toEqual({ balance: 10, held: 0 })
  })
})

describe('what is essential and out of order', () => {
  it('holds the task up, and the engine tries again until it works', async () => {
    const books = { open: false, tries: 0 }
    const on = await start(
      { query: () => ({ kind: 'succeeded', outputs: [] }), limits: { callTimeoutMs: 50 } },
      {
        plugins: [
          {
            name: 'books',
            essential: true,
            onSettled: async () => {
              books.tries += 1
              if (!books.open) throw new Error('the books are closed')
            },
          },
        ],
      },
    )
    const id = await submit(on)
    await until(on, async () => expect(books.tries).toBeGreaterThan(2))
    expect(await find(on, id)).toMatchObject({ status: 'running' })
    expect(await credits(on)).toEqual({ balance: 6, held: 4 })
    expect(on.logLines.filter((line) => line.includes('"alert":"CRITICAL"'))).toHaveLength(1)

    books.open = true
    await until(on, async () => expect(await find(on, id)).toMatchObject({ status: 'completed' }))
    expect(await credits(on)).toEqual({ balance: 6, held: 0 })
  })

  it('does not keep a sweep from the tasks after it', async () => {
    const on = await start(
      { create: () => ({ kind: 'not-accepted', reason: 'busy', retryAfterMs: 60_000 }) },
      {
        type: { waitLimitMs: 300 },
        plugins: [
          {
            name: 'books',
            essential: true,
            onSettled: async (_, { metadata }) => {
              if (metadata.cursed) throw new Error('not this one')
            },
          },
        ],
      },
    )
    const json = { type: 'image', params: { prompt: 'a fox' } }
    const { body } = await on.as('ada')<{ task: Task }>('POST', '/v1/tasks', {
      json: { ...json, metadata: { cursed: true } },
    })
    const after = await submit(on)
    await until(on, async () => expect(await find(on, after)).toMatchObject({ status: 'failed' }))
    expect(await find(on, body.task.id)).toMatchObject({ status: 'pending' })
  })
})
