import { randomUUID } from 'node:crypto'
import type { Attempt } from './attempt.ts'
import { CANCELS } from './cancel-attempts.ts'
import { ADMIN, SIGNED_OUT } from './settings.ts'

const fox = { prompt: 'a fox [fast]' }
/** Generates until somebody stops it. */
const stuck = { prompt: 'a fox [stuck]' }

/** What a user may not say. */
const SETTINGS: Attempt[] = [
  { deadlineMs: 1_000 },
  { timeoutMs: 1_000 },
  { deadlineMs: 86_400_000 },
  { maxAttempts: 20 },
  { priority: 'urgent' },
  { plan: 'enterprise' },
  { externalId: 'somebody-elses-job', provider: 'replicate' },
].map((more) => ({
  name: `submits with ${JSON.stringify(more)}`,
  run: async ({ user, refused }) =>
    refused(await user.submit('picture', fox, more), 'externalId' in more ? 403 : 400),
}))

/** What stands in `params`: refused, or done as the operator has configured it. */
const PARAMETERS: Attempt[] = [
  { type: 'image', params: { ...fox, model: 'google/veo-3' } },
  { type: 'picture', params: { ...fox, model: 'openai/sora-2' } },
  { type: 'image', params: { ...fox, n: 8, num_images: 8, num_outputs: 8 } },
  { type: 'picture', params: { ...fox, num_outputs: 8 } },
  { type: 'clip', params: { ...fox, callback_url: 'https://attacker.example/hook' } },
  { type: 'clip', params: { ...fox, model: 'ray-2-ultra' } },
  { type: 'image', params: { ...fox, callBackUrl: 'https://attacker.example/hook' } },
].map(({ type, params }) => ({
  name: `submits ${type} with ${JSON.stringify(params)}`,
  async run({ user, status }) {
    const { task } = await user.submit(type, params)
    if (task) await status(task, 'completed', 'failed')
  },
}))

const PRICES: Attempt[] = [
  {
    name: 'submits what has no price',
    async run({ user, refused }) {
      for (const seconds of [null, '', [], false, [[]], 0, -5, 0.1, 'NaN', {}]) {
        refused(await user.submit('seconds', { ...fox, seconds }), 400)
      }
    },
  },
  {
    name: 'submits what costs more than there is',
    run: async ({ user, refused }) => refused(await user.submit('seconds', { ...fox, seconds: 6 }), 402),
  },
  {
    name: 'pays by what the vendor says it took',
    async run({ user, made, status }) {
      await status(made(await user.submit('metered', fox)), 'completed')
    },
  },
  {
    name: 'submits five at once with credits for two',
    async run({ user, made, refused, status }) {
      const answers = await Promise.all(Array.from({ length: 5 }, () => user.submit('picture', fox)))
      const taken = answers.filter((answer) => answer.status === 201)
      if (taken.length !== 2) throw new Error(`${taken.length} were taken`)
      for (const answer of answers) if (!taken.includes(answer)) refused(answer, 402)
      for (const answer of taken) await status(made(answer), 'completed')
    },
  },
]

const REPEATS: Attempt[] = [
  {
    name: 'uses one idempotency key for two wishes',
    async run({ user, made, refused, status }) {
      const headers = { 'idempotency-key': randomUUID() }
      const first = await user.call('POST', '/v1/tasks', { type: 'picture', params: fox }, headers)
      const other = { type: 'picture', params: { prompt: 'an owl [fast]' } }
      refused(await user.call('POST', '/v1/tasks', other, headers), 422)
      await status(made(first), 'completed')
    },
  },
  {
    name: 'sends one wish five times at once',
    async run({ user, made, status }) {
      const headers = { 'idempotency-key': randomUUID() }
      const send = () => user.call('POST', '/v1/tasks', { type: 'picture', params: fox }, headers)
      const ids = new Set(
        (await Promise.all([send(), send(), send(), send(), send()])).map((each) => made(each).id),
      )
      if (ids.size !== 1) throw new Error(`${ids.size} tasks were made`)
      await status(made(await send()), 'completed')
    },
  },
  {
    name: 'retries what has completed',
    async run({ user, made, refused, status }) {
      const task = made(await user.submit('picture', fox))
      await status(task, 'completed')
      refused(await user.retry(task.id), 409)
      await user.call('POST', `/v1/tasks/${task.id}/save`)
    },
  },
]

const STRANGERS: Attempt[] = [
  {
    name: "cancels and retries somebody else's",
    async run({ lab, user, made, refused, status }) {
      const task = made(await user.submit('picture', stuck))
      await status(task, 'running')
      const eve = lab.visitor()
      refused(await eve.cancel(task.id), 404)
      refused(await eve.retry(task.id), 404)
      made(await user.cancel(task.id))
    },
  },
  {
    name: "submits into somebody else's conversation",
    async run({ lab, user, refused }) {
      const id = randomUUID()
      await lab.visitor().call('POST', '/v1/conversations', { id, title: 'foxes' })
      refused(await user.submit('picture', fox, { conversationId: id }), 404)
    },
  },
  {
    name: 'signs out while it runs',
    async run({ lab, user, made, refused, status }) {
      const task = made(await user.submit('picture', fox))
      refused(await lab.visitor(SIGNED_OUT).cancel(task.id), 401)
      await status(task, 'completed')
    },
  },
  {
    name: 'asks for its credits back like an administrator',
    async run({ user, made, refused, status }) {
      const task = made(await user.submit('picture', fox))
      await status(task, 'completed')
      refused(
        await user.call('POST', '/v1/admin/credits/refunds', { taskId: task.id, reason: 'please' }),
        403,
      )
    },
  },
]

/** Ends that no user has caused: given back, once. */
const BY_US: Attempt[] = [
  {
    name: 'is given its credits back by an administrator, twice',
    async run({ lab, user, made, status }) {
      const task = made(await user.submit('picture', fox))
      await status(task, 'completed')
      const body = { taskId: task.id, reason: 'blurred' }
      const root = lab.visitor(ADMIN)
      await Promise.all([1, 2, 3].map(() => root.call('POST', '/v1/admin/credits/refunds', body)))
    },
  },
  {
    name: 'submits what the vendor fails',
    async run({ user, made, status }) {
      await status(made(await user.submit('picture', { prompt: 'a fox [fail] [fast]' })), 'failed')
    },
  },
  {
    name: 'submits what the vendor refuses',
    async run({ user, made, status }) {
      await status(made(await user.submit('picture', { prompt: 'a fox [refuse]' })), 'failed')
    },
  },
  {
    name: 'submits what the vendor loses',
    async run({ user, made, status }) {
      await status(made(await user.submit('picture', { prompt: 'a fox [vanish]' })), 'failed')
    },
  },
  {
    name: 'submits what runs past the deadline of its type: the vendor is told to stop',
    async run({ user, made, status, vendors }) {
      const before = vendors.replicate.cancels.length
      const task = made(await user.submit('hurried', stuck))
      await status(task, 'failed')
      while (vendors.replicate.cancels.length === before) await status(task, 'failed')
    },
  },
  {
    name: 'has its dead letter retried and discarded',
    async run({ lab, user, made, status }) {
      const task = made(await user.submit('image', { prompt: 'a fox [code:500]' }))
      await status(task, 'failed')
      const root = lab.visitor(ADMIN)
      const { body } = await root.call('GET', '/v1/admin/dead-letters')
      for (const { id } of body.deadLetters as { id: string }[]) {
        await root.call('POST', `/v1/admin/dead-letters/${id}/discard`)
        await root.call('POST', `/v1/admin/dead-letters/${id}/retry`)
      }
    },
  },
]

/** What `npm run proof -- money` tries. */
export const ATTEMPTS: readonly Attempt[] = [
  ...SETTINGS,
  ...PARAMETERS,
  ...PRICES,
  ...CANCELS,
  ...REPEATS,
  ...STRANGERS,
  ...BY_US,
]
