import { request } from 'node:http'
import type { Task } from '@holdfast/shared'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { problem, startTestHoldfast, type TestHoldfast } from '../../test/test-holdfast.ts'
import { createMemoryBus } from '../bus/memory-bus.ts'
import type { CreateOutcome, QueryOutcome, WebhookReading } from '../providers/provider.ts'

let readings = 0

/** A vendor whose webhooks name a job and a delivery, and are signed if their header says `good`. */
function readWebhook({
  headers,
  body,
}: {
  headers: Readonly<Record<string, string>>
  body: Uint8Array
}): WebhookReading {
  readings += 1
  const { job, delivery = null } = JSON.parse(new TextDecoder().decode(body))
  if (headers['x-signature'] === 'bad') return { kind: 'forged', reason: 'the signature does not fit' }
  if (headers['x-signature'] === 'old') return { kind: 'stale', reason: 'sent an hour ago' }
  if (job === undefined) return { kind: 'irrelevant' }
  return { kind: 'about', externalId: job, deliveryId: delivery, isSigned: headers['x-signature'] === 'good' }
}

const finished = new Set<string>()
let lostReplies = false
let test: TestHoldfast
/** Whom the bus told to look at the database. */
const hinted: string[] = []
beforeAll(async () => {
  const bus = createMemoryBus()
  test = await startTestHoldfast({
    bus: {
      ...bus,
      publish(userId, ...rest) {
        hinted.push(userId)
        bus.publish(userId, ...rest)
      },
    },
    engineRuns: true,
    publicUrl: 'https://api.example.com/',
    script: {
      readWebhook,
      maxWebhookBytes: 64 * 1024 * 1024,
      // Asked an hour apart unless something hurries it.
      limits: { minPollMs: 3_600_000 },
      create: (request): CreateOutcome =>
        lostReplies
          ? { kind: 'unknown', reason: 'cut' }
          : { kind: 'accepted', externalId: `job-${request.taskId}` },
      query: (externalId): QueryOutcome =>
        finished.has(externalId) ? { kind: 'succeeded', outputs: [] } : { kind: 'running', progress: null },
    },
  })
})
afterAll(() => test.stop())

async function submit(): Promise<Task> {
  const { body } = await test.as('ada')<{ task: Task }>('POST', '/v1/tasks', {
    json: { type: 'image', params: { prompt: 'a fox' } },
  })
  return body.task
}
const get = async (id: string) => (await test.as('ada')<{ task: Task }>('GET', `/v1/tasks/${id}`)).body.task
const untilStatus = (id: string, status: string) =>
  vi.waitFor(async () => expect((await get(id)).status).toBe(status), { timeout: 10_000 })

/** Where the provider was told to call back about a task. */
const addressOf = (id: string) => {
  const url = test.provider.creates.find(({ taskId }) => taskId === id)?.callbackUrl ?? ''
  return url.replace('https://api.example.com', '')
}
const send = (path: string, json: object, signature?: string) =>
  test.call('POST', path, { json, headers: signature ? { 'x-signature': signature } : {} })
const polls = (id: string) => test.provider.queries.filter((job) => job === `job-${id}`).length
const due = async (id: string) =>
  (
    await test.sql<{ due: boolean; epoch: number }[]>`
      select due_at <= now() as due, epoch from holdfast.work where task_id = ${id} and kind = 'poll'
    `
  )[0]

async function runningTask(): Promise<Task> {
  const task = await submit()
  await untilStatus(task.id, 'running')
  // The first poll is made and found nothing.
  await test.sql`update holdfast.work set due_at = now(), epoch = epoch + 1 where task_id = ${task.id}`
  await vi.waitFor(() => expect(polls(task.id)).toBeGreaterThan(0), { timeout: 10_000 })
  await vi.waitFor(async () => expect((await due(task.id))?.due).toBe(false))
  return task
}

describe('a webhook at the address that the provider was given', () => {
  it('names the provider and the task, and is told with the create', async () => {
    const task = await submit()
    await untilStatus(task.id, 'running')
    const scripted = test.provider.name
    expect(addressOf(task.id)).toMatch(new RegExp(`^/v1/webhooks/${scripted}/${task.id}/[0-9a-f]{64}$`))
  })

  it('makes a poll due now, and that poll decides', async () => {
    const task = await runningTask()
    const before = polls(task.id)
    expect(await send(addressOf(task.id), { job: `job-${task.id}` })).toMatchObject({ status: 200 })
    await vi.waitFor(() => expect(polls(task.id)).toBe(before + 1), { timeout: 10_000 })
    expect((await get(task.id)).status).toBe('running')

    finished.add(`job-${task.id}`)
    await send(addressOf(task.id), { job: `job-${task.id}` })
    await untilStatus(task.id, 'completed')
    expect(polls(task.id)).toBe(before + 2)
  })

  it('is never believed: it says done, the provider says running', async () => {
    const task = await runningTask()
    await send(addressOf(task.id), {
      job: `job-${task.id}`,
      status: 'succeeded',
      output: ['https://evil.test/x'],
    })
    await vi.waitFor(() => expect(polls(task.id)).toBe(2), { timeout: 10_000 })
    expect(await get(task.id)).toMatchObject({ status: 'running', result: null })
  })

  it('raises the epoch, so that a due time being written at this moment cannot undo it', async () => {
    const task = await runningTask()
    const before = (await due(task.id))?.epoch ?? 0
    await send(addressOf(task.id), { job: `job-${task.id}` })
    expect((await due(task.id))?.epoch).toBeGreaterThan(before)
  })

  it('with another secret, another task or another provider is refused and changes nothing', async () => {
    const [task, other] = [await runningTask(), await runningTask()]
    const before = await due(task.id)
    const address = addressOf(task.id)
    const refused = problem('WEBHOOK_REFUSED', 401)
    const body = { job: `job-${task.id}` }
    expect(
      await send(
        address.replace(/.$/, (end) => (end === '0' ? '1' : '0')),
        body,
      ),
    ).toMatchObject(refused)
    expect(await send(address.slice(0, -1), body)).toMatchObject(refused)
    expect(await send(address.replace(task.id, other.id), body)).toMatchObject(refused)
    expect(await send(address.replace(task.id, 'mine'), body)).toMatchObject(refused)
    expect(await send(address, { job: `job-${other.id}` })).toMatchObject(refused)
    expect(await send(address.replace(test.provider.name, 'nobody'), body)).toMatchObject(
      problem('NOT_FOUND', 404),
    )
    expect(await due(task.id)).toEqual(before)
  })

  it('is refused all the same when the vendor’s signature does not fit, or is old', async () => {
    const task = await runningTask()
    for (const signature of ['bad', 'old']) {
      expect(await send(addressOf(task.id), { job: `job-${task.id}` }, signature)).toMatchObject(
        problem('WEBHOOK_REFUSED', 401),
      )
    }
    expect((await due(task.id))?.due).toBe(false)
  })

  it('sent again is answered, and changes nothing', async () => {
    const task = await runningTask()
    const body = { job: `job-${task.id}`, delivery: `d-${task.id}` }
    expect(await send(addressOf(task.id), body)).toMatchObject({ status: 200 })
    await vi.waitFor(() => expect(polls(task.id)).toBe(2), { timeout: 10_000 })
    const after = await due(task.id)
    expect(await send(addressOf(task.id), body)).toMatchObject({ status: 200 })
    expect(await due(task.id)).toEqual(after)
  })

  it('after the end changes nothing', async () => {
    const task = await runningTask()
    finished.add(`job-${task.id}`)
    await send(addressOf(task.id), { job: `job-${task.id}` })
    await untilStatus(task.id, 'completed')
    const ended = await get(task.id)
    expect(await send(addressOf(task.id), { job: `job-${task.id}` })).toMatchObject({ status: 200 })
    expect(await get(task.id)).toEqual(ended)
  })

  it('tells nobody to look while it has changed nothing that they see', async () => {
    const task = await runningTask()
    hinted.splice(0)
    await send(addressOf(task.id), { job: `job-${task.id}` })
    await vi.waitFor(() => expect(polls(task.id)).toBe(2), { timeout: 10_000 })
    await vi.waitFor(async () => expect((await due(task.id))?.due).toBe(false))
    expect(hinted).toEqual([])
    finished.add(`job-${task.id}`)
    await send(addressOf(task.id), { job: `job-${task.id}` })
    await untilStatus(task.id, 'completed')
    await vi.waitFor(() => expect(hinted).toEqual(['ada']))
    expect(await send(addressOf(task.id), { job: `job-${task.id}` })).toMatchObject({ status: 200 })
    expect(hinted).toEqual(['ada'])
  })

  it('may be as large as its vendor makes it, but not endless', async () => {
    const task = await runningTask()
    const padding = 'x'.repeat(600 * 1024)
    expect(await send(addressOf(task.id), { job: `job-${task.id}`, padding })).toMatchObject({ status: 200 })
    expect(
      await send(addressOf(task.id), { job: `job-${task.id}`, padding: padding + padding }),
    ).toMatchObject(problem('BODY_TOO_LARGE', 413))
  })
})

describe('the door for webhooks', () => {
  let url = ''
  beforeAll(async () => {
    url = await test.listen()
  })

  /** Begins a call, and sends only what it is told to. */
  function begin(path: string, headers: Record<string, string>) {
    const call = request(`${url}${path}`, { method: 'POST', agent: false, headers })
    const answer = new Promise<{ status: number; retryAfter: string | undefined }>((resolve, reject) => {
      call.on('response', (response) => {
        response.resume()
        resolve({ status: response.statusCode ?? 0, retryAfter: response.headers['retry-after'] })
      })
      call.on('error', reject)
    })
    return { call, answer }
  }
  const account = () => `/v1/webhooks/${test.provider.name}`
  const wrongSecret = (id: string) => `${account()}/${id}/${'0'.repeat(64)}`

  it('answers a wrong address without a byte of its body, and has nothing parsed', async () => {
    const task = await runningTask()
    const before = readings
    for (const path of [wrongSecret(task.id), `${account()}/mine/secret`, '/v1/webhooks/nobody']) {
      const announced: Record<string, string>[] = [
        { 'content-length': '60000' },
        { 'transfer-encoding': 'chunked' },
      ]
      for (const headers of announced) {
        const { call, answer } = begin(path, headers)
        call.flushHeaders()
        expect((await answer).status, path).toBe(path.endsWith('nobody') ? 404 : 401)
        call.destroy()
      }
    }
    expect(await send(wrongSecret(task.id), { job: `job-${task.id}` })).toMatchObject({ status: 401 })
    expect(readings).toBe(before)
  })

  it('refuses what says that it is too large without reading it', async () => {
    const task = await runningTask()
    for (const [path, bytes] of [
      [account(), 64 * 1024 + 1],
      [addressOf(task.id), 1024 * 1024 + 1],
    ] as const) {
      const { call, answer } = begin(path, { 'content-length': String(bytes) })
      call.flushHeaders()
      expect((await answer).status, path).toBe(413)
      call.destroy()
    }
  })

  it('leaves what turns out to be too large at that moment', async () => {
    const task = await runningTask()
    for (const [path, bytes] of [
      [account(), 64 * 1024 + 1],
      [addressOf(task.id), 1024 * 1024 + 1],
    ] as const) {
      const { call, answer } = begin(path, { 'transfer-encoding': 'chunked' })
      // And never comes to an end.
      call.write(Buffer.alloc(bytes, ' '))
      expect((await answer).status, path).toBe(413)
      call.destroy()
    }
  })

  it('reads few strangers at a time, and those never take the room of tasks’ own addresses', async () => {
    const task = await runningTask()
    const open = Array.from({ length: 40 }, () => {
      const begun = begin(account(), { 'content-length': '20' })
      begun.call.flushHeaders()
      return begun
    })
    const answers: { status: number; retryAfter: string | undefined }[] = []
    for (const { answer } of open) answer.then((given) => answers.push(given)).catch(() => {})
    await vi.waitFor(() => expect(answers).toHaveLength(32), { timeout: 10_000 })
    expect(answers.every(({ status, retryAfter }) => status === 503 && retryAfter === '5')).toBe(true)
    const own = await fetch(`${url}${addressOf(task.id)}`, {
      method: 'POST',
      body: JSON.stringify({ job: `job-${task.id}` }),
    })
    expect(own.status).toBe(200)
    for (const { call } of open) call.destroy()
    // Once they are gone there is room again.
    await vi.waitFor(async () => expect((await send(account(), {})).status).not.toBe(503), {
      timeout: 10_000,
    })
  })

  it('one address cannot take the room of all others', async () => {
    const open = Array.from({ length: 40 }, () => {
      const begun = begin(account(), { 'content-length': '20' })
      begun.call.flushHeaders()
      begun.answer.catch(() => {})
      return begun
    })
    try {
      await Promise.race(open.map(({ answer }) => answer))
      const incoming = { socket: { remoteAddress: '192.0.2.7', remotePort: 1, remoteFamily: 'IPv4' } }
      const vendors = await test.holdfast.app.request(
        account(),
        { method: 'POST', body: '{}', headers: { 'x-signature': 'good' } },
        { incoming },
      )
      expect(vendors.status).toBe(200)
    } finally {
      for (const { call } of open) call.destroy()
    }
  })

  it('refuses ten bodies of 16 MB at once at each of its addresses', async () => {
    const task = await runningTask()
    const body = Buffer.alloc(16 * 1024 * 1024, '{"a":[')
    for (const path of [account(), wrongSecret(task.id), addressOf(task.id), '/v1/webhooks/nobody']) {
      const statuses = await Promise.all(
        Array.from({ length: 10 }, async () => {
          const { call, answer } = begin(path, { 'content-length': String(body.length) })
          call.end(body)
          // A server that does not read on may close before all is sent.
          const status = await answer.then(
            (given) => given.status,
            () => 0,
          )
          call.destroy()
          return status
        }),
      )
      expect(
        statuses.filter((status) => ![0, 401, 404, 413].includes(status)),
        path,
      ).toEqual([])
    }
  }, 60_000)
})

describe('a webhook for a whole account', () => {
  it('counts if it is signed, and only then', async () => {
    const task = await runningTask()
    const path = `/v1/webhooks/${test.provider.name}`
    expect(await send(path, { job: `job-${task.id}` })).toMatchObject(problem('WEBHOOK_REFUSED', 401))
    expect((await due(task.id))?.due).toBe(false)
    expect(await send(path, { job: `job-${task.id}` }, 'good')).toMatchObject({ status: 200 })
    await vi.waitFor(() => expect(polls(task.id)).toBe(2), { timeout: 10_000 })
  })

  it('about something that is not ours is answered and forgotten', async () => {
    const path = `/v1/webhooks/${test.provider.name}`
    expect(await send(path, { job: 'somebody-else' }, 'good')).toMatchObject({ status: 200 })
    expect(await send(path, {}, 'good')).toMatchObject({ status: 200 })
  })
})

describe('a create whose reply was lost (F8)', () => {
  it('is found by its callback and goes on; it is not sent again', async () => {
    lostReplies = true
    const task = await submit()
    await vi.waitFor(() => expect(addressOf(task.id)).not.toBe(''), { timeout: 10_000 })
    lostReplies = false
    await send(addressOf(task.id), { job: `job-${task.id}` })
    await untilStatus(task.id, 'running')
    finished.add(`job-${task.id}`)
    await send(addressOf(task.id), { job: `job-${task.id}` })
    await untilStatus(task.id, 'completed')
    expect(test.provider.creates.filter(({ taskId }) => taskId === task.id)).toHaveLength(1)
  }, 30_000)

  /** A task that was given up, of which the provider knows more than we do. */
  async function givenUpTask(): Promise<Task> {
    lostReplies = true
    const task = await submit()
    await vi.waitFor(() => expect(addressOf(task.id)).not.toBe(''), { timeout: 10_000 })
    lostReplies = false
    // An hour later: nobody waits for a callback that long.
    await vi.waitFor(
      async () => {
        await test.sql`update holdfast.provider_jobs set sending_at = sending_at - interval '1 h' where task_id = ${task.id}`
        await test.sql`update holdfast.work set due_at = now() where task_id = ${task.id}`
        expect(await get(task.id)).toMatchObject({ status: 'failed', failure: { code: 'SUBMIT_UNKNOWN' } })
      },
      { timeout: 10_000, interval: 200 },
    )
    return task
  }
  const jobOf = async ({ id }: Task) =>
    (await test.sql`select external_id from holdfast.provider_jobs where task_id = ${id}`)[0]

  it('a callback after it was given up keeps the id and changes nothing else', async () => {
    const task = await givenUpTask()
    expect(await send(addressOf(task.id), { job: `job-${task.id}` })).toMatchObject({ status: 200 })
    expect((await get(task.id)).status).toBe('failed')
    expect(await jobOf(task)).toMatchObject({ external_id: `job-${task.id}` })
  }, 30_000)

  it('such a callback that could not be written down is not a repeat when it comes again', async () => {
    const task = await givenUpTask()
    const job = `job-${task.id}`
    const callBack = () => send(addressOf(task.id), { job, delivery: `delivery-${task.id}` })
    await test.sql.unsafe(
      `alter table holdfast.provider_jobs add constraint not_now check (external_id <> '${job}') not valid`,
    )
    expect((await callBack()).status).toBeGreaterThanOrEqual(500)
    await test.sql`alter table holdfast.provider_jobs drop constraint not_now`
    expect(await callBack()).toMatchObject({ status: 200 })
    expect(await jobOf(task)).toMatchObject({ external_id: job })
  }, 30_000)
})
