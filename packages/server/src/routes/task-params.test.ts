import type { Problem, Task } from '@holdfast/shared'
import { afterEach, expect, it, vi } from 'vitest'
import { scriptedTypes } from '../../test/scripted-types.ts'
import { startTestHoldfast, type TestHoldfast, type TestHoldfastOptions } from '../../test/test-holdfast.ts'
import { defaultTaskTypes } from '../tasks/task-types.ts'

let test: TestHoldfast | undefined
afterEach(async () => {
  await test?.stop()
  test = undefined
})
async function start(options: TestHoldfastOptions): Promise<TestHoldfast> {
  test = await startTestHoldfast(options)
  return test
}

it('a parameter that the type does not name is refused with what it does name, and nothing is created', async () => {
  const { as, sql } = await start({
    script: { name: 'scripted' },
    types: { image: { ...defaultTaskTypes.image, provider: 'scripted' } },
  })
  for (const [params, detail] of [
    [{ prompt: 'a fox', num_images: 4 }, 'unknown "num_images"; known: prompt, aspect_ratio'],
    [{ prompt: 'a fox', model: 'veo3' }, 'the model of "image" cannot be chosen'],
    [{ prompt: 'a fox', callback_url: 'https://elsewhere.example' }, 'unknown "callback_url"'],
  ] as const) {
    const { status, body } = await as('ada')<Problem>('POST', '/v1/tasks', {
      json: { type: 'image', params },
    })
    expect(status).toBe(400)
    expect(body).toMatchObject({ code: 'INVALID_PARAMS', detail: expect.stringContaining(detail) })
  }
  expect(await sql`select from holdfast.tasks`).toHaveLength(0)
})

it('a model of the type’s list is priced, stored and sent, and stays chosen when the task is retried', async () => {
  const models = ['usual', 'fine']
  const { as, provider, sql } = await start({
    engineRuns: true,
    credits: { initial: 100 },
    types: scriptedTypes('scripted', { models, credits: ({ model }) => (model === 'fine' ? 9 : 1) }),
    script: {
      name: 'scripted',
      create: () => ({ kind: 'refused', code: 'SUBMIT_REFUSED', message: 'No.', retryable: false }),
    },
  })
  const submit = (params: Record<string, unknown>) =>
    as('ada')<{ task: Task }>('POST', '/v1/tasks', { json: { type: 'image', params } })
  const { task } = (await submit({ prompt: 'a fox', model: 'fine' })).body
  expect(task.params).toEqual({ prompt: 'a fox', model: 'fine' })
  await submit({ prompt: 'a hen' })
  await vi.waitFor(() => expect(provider.creates).toHaveLength(2), { timeout: 15_000 })
  await vi.waitFor(
    async () => {
      const retried = await as('ada')<{ task: Task }>('POST', `/v1/tasks/${task.id}/retry`)
      expect(retried).toMatchObject({ status: 201, body: { task: { params: { model: 'fine' } } } })
    },
    { timeout: 15_000 },
  )
  await vi.waitFor(() => expect(provider.creates).toHaveLength(3), { timeout: 15_000 })
  const sent = provider.creates.map(({ params, model }) => `${params.prompt}: ${model}`)
  expect(sent.sort()).toEqual(['a fox: fine', 'a fox: fine', 'a hen: usual'])
  const holds =
    await sql`select amount::int as amount from holdfast.credit_ledger where kind = 'hold' order by amount`
  expect(holds).toMatchObject([{ amount: 1 }, { amount: 9 }, { amount: 9 }])
})
