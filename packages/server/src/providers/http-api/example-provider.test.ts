import type { Task } from '@holdfast/shared'
import { afterEach, expect, test } from 'vitest'
import { z } from 'zod'
import { createAcme } from '../../../test/example-provider.ts'
import { type SmallRequest, startSmallServer } from '../../../test/small-server.ts'
import { startTestHoldfast } from '../../../test/test-holdfast.ts'
import { defineTaskType } from '../../tasks/define-task-type.ts'

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean()
})

const KEY = 'acme-key-0123456789'
const USER = '0199f000-0000-7000-8000-0000000000a1'

/** A small vendor: a job takes two polls, and ends as its prompt says. */
function createVendor() {
  const jobs = new Map<string, { prompt: string; polls: number }>()
  return ({ method, path, headers, body }: SmallRequest) => {
    if (headers.authorization !== `Bearer ${KEY}`) return { status: 401, json: { error: 'wrong key' } }
    if (method === 'POST' && path === '/v1/jobs') {
      const { prompt } = JSON.parse(body) as { prompt: string }
      if (prompt.includes('refuse')) return { status: 422, json: { error: 'no such thing' } }
      const id = `job-${jobs.size + 1}`
      jobs.set(id, { prompt, polls: 0 })
      return { status: 201, json: { id, state: 'new' } }
    }
    const id = path.replace('/v1/jobs/', '')
    const job = jobs.get(id)
    if (!job) return { status: 404, json: { error: 'no such job' } }
    if (method === 'DELETE') {
      jobs.delete(id)
      return { status: 204 }
    }
    job.polls++
    if (job.prompt.includes('stay') || job.polls < 2) return { json: { id, state: 'busy', percent: 40 } }
    if (job.prompt.includes('fail')) return { json: { id, state: 'failed', error: 'out of paint' } }
    return { json: { id, state: 'done', files: [`https://files.acme.example/${id}.png`] } }
  }
}

async function setUp() {
  const vendor = await startSmallServer(createVendor())
  // As it stands in the guide, but asked more often than a real vendor would like.
  const { limits, ...rest } = createAcme(KEY, `${vendor.url}/v1`)
  const acme = { ...rest, limits: { ...limits, minPollMs: 10 } }
  const portrait = defineTaskType({
    provider: acme,
    params: z.object({ prompt: z.string() }),
    deadlineMs: 60_000,
    expectedMs: 1_000,
    watchedPollMs: 10,
  })
  const server = await startTestHoldfast({ providers: [acme], types: { portrait }, engineRuns: true })
  cleanups.push(
    () => vendor.close(),
    () => server.stop(),
  )
  const call = server.as(USER)
  const submit = async (prompt: string) => {
    const { body } = await call<{ task: Task }>('POST', '/v1/tasks', {
      json: { type: 'portrait', params: { prompt } },
    })
    return body.task.id
  }
  const read = async (id: string) => (await call<{ task: Task }>('GET', `/v1/tasks/${id}`)).body.task
  const until = (id: string, status: Task['status']) =>
    expect.poll(async () => (await read(id)).status, { timeout: 15_000 }).toBe(status)
  // Somebody who watches, so that polls come soon.
  const stream = await server.openStream(USER)
  cleanups.push(async () => stream.body?.cancel())
  return { vendor, call, submit, read, until }
}

test('the provider of the guide takes a task from its submit to its file', async () => {
  const { submit, read, until } = await setUp()
  const id = await submit('a cat')
  await until(id, 'completed')
  expect(await read(id)).toMatchObject({
    provider: 'acme',
    result: { outputs: [{ url: 'https://files.acme.example/job-1.png', contentType: 'image/png' }] },
  })
})

test('a failure and a refusal are told in the words of the vendor', async () => {
  const { submit, read, until } = await setUp()
  const failed = await submit('a cat, fail')
  const refused = await submit('a cat, refuse')
  await until(failed, 'failed')
  await until(refused, 'failed')
  expect((await read(failed)).failure).toMatchObject({
    code: 'PROVIDER_FAILED',
    message: expect.stringContaining('“out of paint”'),
    retryable: true,
  })
  expect((await read(refused)).failure).toMatchObject({
    code: 'SUBMIT_REFUSED',
    message: expect.stringContaining('“no such thing”'),
  })
})

test('Q9 a cancel reaches the vendor', async () => {
  const { vendor, call, submit, until } = await setUp()
  const id = await submit('a cat, stay')
  await until(id, 'running')
  await call('POST', `/v1/tasks/${id}/cancel`)
  await until(id, 'cancelled')
  await expect
    .poll(() => vendor.requests.some(({ method }) => method === 'DELETE'), { timeout: 15_000 })
    .toBe(true)
})
