import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Message, SyncAnswer, Task, TaskOutput } from '@holdfast/shared'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { makeFinishedTask } from '../../test/finished-task.ts'
import { makePicture } from '../../test/make-picture.ts'
import { readEvents } from '../../test/read-events.ts'
import { type SourceServer, sendPicture, startSourceServer } from '../../test/source-server.ts'
import { startTestHoldfast, type TestHoldfast } from '../../test/test-holdfast.ts'
import { createFilesystemStore } from '../objects/filesystem-store.ts'
import type { ObjectStore } from '../objects/object-store.ts'

let server: TestHoldfast
let source: SourceServer
let folder: string
let signed: number[] = []
const picture = makePicture(5_000)

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-results-'))
  source = await startSourceServer()
  const store = createFilesystemStore({
    directory: folder,
    baseUrl: 'https://api.example',
    secret: 'a secret for these tests',
  })
  const objects: ObjectStore = {
    ...store,
    signUrls: (keys, options) => {
      signed.push(keys.length)
      return store.signUrls(keys, options)
    },
  }
  server = await startTestHoldfast({
    objects,
    mirror: { allowLoopback: true, urlLifetimeMs: 3_600_000 },
    engineRuns: true,
    streams: { sweepMs: 3_600_000 },
    script: {
      name: 'vendor',
      query: async (externalId) => ({
        kind: 'succeeded',
        outputs: [{ url: `${source.url}/${externalId}`, contentType: 'image/png', urlLifetimeMs: 1_200_000 }],
      }),
    },
  })
})
afterAll(async () => {
  await server?.stop()
  await source?.close()
  await rm(folder, { recursive: true, force: true })
})

const until = <T>(check: () => Promise<T>) => vi.waitFor(check, { timeout: 10_000, interval: 10 })
const outputOf = (task: Task | undefined) => task?.result?.outputs[0]

async function storedTask(userId: string, options: { conversationId?: string } = {}): Promise<Task> {
  const url = source.offer(`${userId}-${Math.random()}.png`, picture)
  const id = await makeFinishedTask(server.sql, { userId, provider: 'vendor', urls: [url], ...options })
  return until(async () => {
    const { body } = await server.as(userId)<{ task: Task }>('GET', `/v1/tasks/${id}`)
    expect(outputOf(body.task)?.state).toBe('stored')
    return body.task
  })
}

function expectOurs(output: TaskOutput | undefined): void {
  expect(output).toMatchObject({ state: 'stored', contentType: 'image/png', bytes: 5_000, problem: null })
  expect(output?.url).toMatch(
    /^https:\/\/api\.example\/files\/results\/[0-9a-f]{32}\/[0-9a-f-]{36}\/0\.png\?/,
  )
  const leftMs = Date.parse(output?.urlExpiresAt ?? '') - Date.now()
  expect(leftMs).toBeGreaterThan(1_700_000)
  expect(leftMs).toBeLessThanOrEqual(3_600_000)
}

describe('a result, from the provider to our own address (O1, O2)', () => {
  it('comes to an open stream by itself: first at the provider, then at our URL, which has the bytes', async () => {
    let release = () => {}
    const gate = new Promise<void>((resolve) => {
      release = resolve
    })
    const events = readEvents(await server.openStream('eve'))
    await events.until('snapshot')
    const asked = await server.as('eve')<{ task: Task }>('POST', '/v1/tasks', {
      json: { type: 'image', params: { prompt: 'a fox' } },
    })
    const id = asked.body.task.id
    source.offer(`external-${id}`, async (_request, response) => {
      await gate
      sendPicture(response, picture)
    })
    const seen: TaskOutput[] = []
    let url = ''
    while (url === '') {
      const { data } = await events.until('task')
      const output = outputOf((data as { task: Task }).task)
      if (!output) continue
      seen.push(output)
      if (output.state === 'remote') release()
      if (output.state === 'stored') url = output.url ?? ''
    }
    await events.cancel()
    expect(seen[0]).toMatchObject({ state: 'remote', url: `${source.url}/external-${id}` })
    expectOurs(seen.at(-1))

    // Without a token: the URL is the permission.
    const path = url.replace('https://api.example', '')
    const answer = await server.holdfast.app.request(path)
    expect(answer.status).toBe(200)
    expect(Buffer.from(await answer.arrayBuffer())).toEqual(picture)
    expect((await server.holdfast.app.request(path.replace('/0.png', '/1.png'))).status).toBe(403)
  })

  it('is at our URL wherever it is read: find, list, sync, messages, and what a repeated create answers', async () => {
    const conversation = await server.as('ann')<{ conversation: { id: string } }>(
      'POST',
      '/v1/conversations',
      {
        json: { title: 'Foxes' },
      },
    )
    const conversationId = conversation.body.conversation.id
    const json = { type: 'image', params: { prompt: 'a fox' }, conversationId }
    const headers = { 'idempotency-key': 'once' }
    const ann = server.as('ann')
    const { task } = (await ann<{ task: Task }>('POST', '/v1/tasks', { json, headers })).body
    source.offer(`external-${task.id}`, picture)
    const found = await until(async () => {
      // Nobody watches, so the first poll would be half a minute away.
      await server.sql`update holdfast.work set due_at = now() where kind = 'poll' and task_id = ${task.id}`
      const { body } = await ann<{ task: Task }>('GET', `/v1/tasks/${task.id}`)
      expect(outputOf(body.task)?.state).toBe('stored')
      return body.task
    })
    expectOurs(outputOf(found))

    const list = await ann<{ tasks: Task[] }>('GET', '/v1/tasks?status=all')
    const sync = await ann<SyncAnswer>('POST', '/v1/sync', { json: { known: {} } })
    const messages = await ann<{ messages: Message[] }>('GET', `/v1/conversations/${conversationId}/messages`)
    const again = await ann<{ task: Task }>('POST', '/v1/tasks', { json, headers })
    const saved = await ann<{ task: Task }>('POST', `/v1/tasks/${task.id}/save`)
    expect(again.status).toBe(200)
    for (const output of [
      outputOf(list.body.tasks[0]),
      outputOf(sync.body.tasks[0]),
      messages.body.messages[0]?.outputs[0],
      outputOf(again.body.task),
      outputOf(saved.body.task),
    ]) {
      // The same URL everywhere, so that a browser that has the picture keeps it.
      expect(output).toEqual(outputOf(found))
    }
    const everything = JSON.stringify([list, sync, messages, again, saved])
    expect(everything).not.toContain(source.url)
  })

  it('is signed in one batch for a whole list', async () => {
    const url = source.offer('many.png', picture)
    const ids = await Promise.all(
      Array.from({ length: 30 }, () =>
        makeFinishedTask(server.sql, { userId: 'bob', provider: 'vendor', urls: [url, url] }),
      ),
    )
    await until(async () => {
      const rows = await server.sql`select from holdfast.artifacts where user_id = 'bob' and state = 'stored'`
      expect(rows).toHaveLength(60)
    })
    signed = []
    const { body } = await server.as('bob')<{ tasks: Task[] }>('GET', '/v1/tasks?status=all&limit=100')
    expect(body.tasks).toHaveLength(30)
    expect(body.tasks.every(({ result }) => result?.outputs.every((output) => output.url !== null))).toBe(
      true,
    )
    expect(signed).toEqual([60])
    await server.as('bob')('GET', '/v1/tasks?status=all&limit=100')
    await server.as('bob')('GET', `/v1/tasks/${ids[0]}`)
    expect(signed).toEqual([60])
  })

  it.each(['expired', 'deleted'] as const)('has no URL when it is %s', async (state) => {
    const task = await storedTask('cem')
    await server.sql`
      update holdfast.artifacts set state = ${state}, object_key = ${state === 'deleted' ? server.sql`object_key` : null}
      where task_id = ${task.id}
    `
    const { body } = await server.as('cem')<{ task: Task }>('GET', `/v1/tasks/${task.id}`)
    expect(outputOf(body.task)).toMatchObject({ state, url: null, urlExpiresAt: null })
  })

  it('says why there is no copy', async () => {
    const url = source.offer('page.html', (_request, response) => response.writeHead(410).end())
    const urls = [url]
    const id = await makeFinishedTask(server.sql, { userId: 'dee', provider: 'vendor', urls, lifetimeMs: 1 })
    await until(async () => {
      const { body } = await server.as('dee')<{ task: Task }>('GET', `/v1/tasks/${id}`)
      expect(body.task.status).toBe('completed')
      expect(outputOf(body.task)).toMatchObject({
        state: 'expired',
        url: null,
        problem: expect.stringContaining('removed this file before it could be copied'),
      })
    })
  })
})
