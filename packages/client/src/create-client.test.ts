import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createBrowser, elapse, until } from '../test/browser.ts'
import { type ContractServer, startContractServer } from '../test/contract-server.ts'
import {
  createClient,
  createConversations,
  type HoldfastClient,
  listTasks,
  type SubmitInput,
} from './index.ts'

let server: ContractServer
let browser: ReturnType<typeof createBrowser>

beforeEach(async () => {
  server = await startContractServer()
  browser = createBrowser(server.url)
})
afterEach(async () => {
  await browser.close()
  await server.stop()
})

const state = (client: HoldfastClient) => client.store.getState()
const confirmed = (client: HoldfastClient) => until(() => state(client).restore === 'confirmed')
const pushing = (client: HoldfastClient) => until(() => state(client).connection === 'push')
const submit = async (client: HoldfastClient, input: SubmitInput = submitBody) =>
  (await client.submit(input)).task
const submitBody = { type: 'image', params: { prompt: 'a lighthouse' } }

describe('restoring', () => {
  it('restores 20 tasks with one sync and one stream', async () => {
    for (let n = 0; n < 20; n++) server.put('alice')
    server.put('bob')
    const { client, signIn } = browser.openTab()
    await signIn()
    await pushing(client)
    expect(Object.keys(state(client).tasks)).toHaveLength(20)
    expect(server.requests.map((request) => request.path)).toEqual(['/v1/sync', '/v1/stream'])
    // From where the sync left off, so the stream's snapshot does not bring it all again.
    expect(server.requests[1]?.headers['last-event-id']).toBe('22')
  })

  it('paints from the local copy while the network is down, and goes on when it returns', async () => {
    const task = server.put('alice', { status: 'running', progress: 40 })
    const before = browser.openTab()
    await before.signIn()
    await pushing(before.client)
    await before.client.close()

    server.goDown()
    const { client, signIn, page } = browser.openTab()
    await signIn()
    expect(state(client).restore).toBe('from-cache')
    expect(state(client).tasks[task.id]).toMatchObject({ progress: 40, stale: true })
    await until(() => state(client).role === 'leader')
    await elapse(browser.clock, () => state(client).connection === 'offline')
    expect(state(client).tasks[task.id]).toMatchObject({ stale: true })

    server.comeUp()
    server.change(task.id, { progress: 70 })
    page.dispatchEvent(new Event('online'))
    await elapse(browser.clock, () => state(client).connection === 'push', 100)
    expect(state(client)).toMatchObject({ restore: 'confirmed', storage: 'durable' })
    expect(state(client).tasks[task.id]).toMatchObject({ progress: 70, stale: false })
  })

  it('a refresh that gets through brings the stream back at once', async () => {
    server.goDown()
    const { client, signIn } = browser.openTab()
    await signIn()
    await until(() => state(client).role === 'leader')
    await elapse(browser.clock, () => state(client).connection === 'offline')
    server.comeUp()
    await client.refresh()
    // Without the clock moving: nothing waits for its turn any more.
    await pushing(client)
  })

  it('comes back by itself, without any event of the browser', async () => {
    server.goDown()
    const { client, signIn } = browser.openTab()
    await signIn()
    await until(() => state(client).role === 'leader')
    server.comeUp()
    await elapse(browser.clock, () => state(client).connection === 'push')
    expect(state(client).restore).toBe('confirmed')
  })

  it('keeps the copy of a tab that died without a word', async () => {
    const { client, signIn } = browser.openTab()
    await signIn()
    await pushing(client)
    const task = await submit(client)
    // No close(): the submit itself has written.
    await until(async () => {
      const next = createClient({
        app: browser.app,
        environment: { indexedDB: browser.indexedDB, locks: null, openChannel: null },
        fetch: () => Promise.reject(new TypeError('offline')),
      })
      await next.setUser({ id: 'alice', getToken: () => 'alice' })
      const painted = task.id in state(next).tasks
      await next.setUser(null)
      return painted
    })
  })

  it('confirms unchanged tasks without sending them again, and drops those the server does not have', async () => {
    const kept = server.put('alice')
    const lost = server.put('alice')
    const before = browser.openTab()
    await before.signIn()
    await pushing(before.client)
    await before.client.close()
    server.remove(lost.id)

    const { client, signIn } = browser.openTab()
    await signIn()
    expect(Object.keys(state(client).tasks)).toHaveLength(2)
    await confirmed(client)
    expect(state(client).tasks).toEqual({ [kept.id]: { ...kept, origin: 'other-device', stale: false } })
    const sync = server.requests.findLast((request) => request.path === '/v1/sync')
    expect(sync?.body.known).toEqual({ [kept.id]: [1, null], [lost.id]: [1, null] })
  })

  it('says once what was restored, oldest first, and nothing of what has ended or is overdue', async () => {
    const second = server.put('alice', { createdAt: '2026-01-02T00:00:00.000Z' })
    const first = server.put('alice', { createdAt: '2026-01-01T00:00:00.000Z' })
    server.put('alice', { status: 'completed', finishedAt: new Date().toISOString() })
    server.put('alice', { status: 'running', deadlineAt: '2026-01-01T00:10:00.000Z' })
    const { client, signIn } = browser.openTab()
    const restored: string[][] = []
    client.on('restored', ({ tasks }) => restored.push(tasks.map((task) => task.id)))
    await signIn()
    await pushing(client)
    await client.refresh()
    expect(restored).toEqual([[first.id, second.id]])
  })

  it('says when a known task ends, once', async () => {
    const task = server.put('alice')
    const { client, signIn } = browser.openTab()
    const settled: [string, string][] = []
    const undo = client.on('settled', ({ task, change }) => settled.push([task.id, change]))
    await signIn()
    await pushing(client)
    server.put('alice', { status: 'failed' })
    server.change(task.id, { status: 'completed' })
    const last = server.change(task.id, { messageId: 'message-1' })
    await until(() => state(client).tasks[task.id]?.version === last.version)
    expect(settled).toEqual([[task.id, 'completed']])

    undo()
    const another = server.put('alice')
    server.change(another.id, { status: 'failed' })
    await until(() => state(client).tasks[another.id]?.status === 'failed')
    expect(settled).toHaveLength(1)
  })

  it('knows the server clock, whatever its own says', async () => {
    server.setClockAhead(3_600_000)
    const { client, signIn } = browser.openTab()
    await signIn()
    await confirmed(client)
    expect(Math.abs(state(client).clockOffset - 3_600_000)).toBeLessThan(60_000)
  })
})

describe('addresses of files', () => {
  const MINUTE = 60_000
  const file = (url: string, minutes: number) => ({
    outputs: [
      {
        url,
        contentType: 'image/png',
        bytes: 3,
        state: 'stored' as const,
        urlExpiresAt: new Date(Date.now() + minutes * MINUTE).toISOString(),
        problem: null,
        expiresAt: null,
      },
    ],
  })
  const completed = (url: string, minutes: number) =>
    server.put('alice', {
      status: 'completed',
      finishedAt: new Date().toISOString(),
      result: file(url, minutes),
    })
  const urlOf = (client: HoldfastClient, id: string) => state(client).tasks[id]?.result?.outputs[0]?.url

  it('are fetched anew before they run out, by one tab for all, without a new state of the task', async () => {
    const { id, version } = completed('/old', 3)
    const [first, second] = [browser.openTab(), browser.openTab()]
    await first.signIn()
    await second.signIn()
    await pushing(first.client)
    await until(() => urlOf(second.client, id) === '/old')
    server.signAnew(id, file('/new', 70))

    const before = server.count('POST', '/v1/sync')
    const isNew = () => {
      // So that it is not a new stream which brings them.
      server.heartbeat()
      return urlOf(first.client, id) === '/new'
    }
    await elapse(browser.clock, isNew, 1_000)
    await until(() => urlOf(second.client, id) === '/new')
    expect(browser.clock.now()).toBeLessThan(Date.now() + 3 * MINUTE)
    expect(state(first.client).tasks[id]?.version).toBe(version)
    expect(server.count('POST', '/v1/sync')).toBe(before + 1)
  })

  it('that ran out while the browser was closed are replaced with the first answer', async () => {
    const { id } = completed('/old', 10)
    const before = browser.openTab()
    await before.signIn()
    await pushing(before.client)
    await before.client.close()
    server.signAnew(id, file('/new', 70))
    browser.clock.advance(20 * MINUTE)
    server.setClockAhead(20 * MINUTE)

    const { client, signIn } = browser.openTab()
    await signIn()
    await until(() => urlOf(client, id) === '/new')
    expect(state(client).tasks[id]?.stale).toBe(false)
  })
})

describe('submitting', () => {
  it('shows the task as soon as the server has it', async () => {
    const { client, signIn } = browser.openTab()
    await signIn()
    const task = await submit(client, { ...submitBody, placeholderId: 'mine' })
    expect(state(client).tasks[task.id]).toMatchObject({
      placeholderId: 'mine',
      origin: 'this-tab',
      stale: false,
    })
  })

  it('sends the same key again when only the answer was lost, so there is one task', async () => {
    const { client, signIn } = browser.openTab()
    await signIn()
    await pushing(client)
    server.next('POST /v1/tasks', { kind: 'lose-answer' }, { kind: 'fail', code: 'UNAVAILABLE' })
    let submitted = false
    const submitting = submit(client).then(() => {
      submitted = true
    })
    await elapse(browser.clock, () => submitted, 100)
    await submitting
    expect(server.created()).toBe(1)
    const posts = server.requests.filter((request) => request.path === '/v1/tasks')
    expect(posts).toHaveLength(3)
    expect(new Set(posts.map((request) => request.headers['idempotency-key']))).toHaveProperty('size', 1)
  })

  it('takes the key of an earlier try, so that a wish whose answer was lost is one task', async () => {
    const { client, signIn } = browser.openTab()
    await signIn()
    await pushing(client)
    const first = await submit(client, { ...submitBody, idempotencyKey: 'draft-7' })
    const again = await submit(client, { ...submitBody, idempotencyKey: 'draft-7' })
    expect(again.id).toBe(first.id)
    const posts = server.requests.filter((request) => request.path === '/v1/tasks')
    expect(posts.map((request) => request.headers['idempotency-key'])).toEqual(['draft-7', 'draft-7'])
    expect(posts[0]?.body).not.toHaveProperty('idempotencyKey')
  })

  it('does not repeat what was refused, and passes on the code and trace id', async () => {
    const { client, signIn } = browser.openTab()
    await signIn()
    server.next('POST /v1/tasks', { kind: 'fail', code: 'UNKNOWN_TASK_TYPE' })
    await expect(submit(client)).rejects.toMatchObject({
      code: 'UNKNOWN_TASK_TYPE',
      status: 400,
      traceId: 'trace-1',
    })
    expect(server.count('POST', '/v1/tasks')).toBe(1)
  })

  it('retries as a new task and cancels a running one', async () => {
    const { client, signIn } = browser.openTab()
    await signIn()
    const failed = server.put('alice', { status: 'failed', placeholderId: 'card' })
    const again = await client.retry(failed.id)
    expect(again).toMatchObject({ retryOf: failed.id, placeholderId: 'card' })
    expect(state(client).tasks[again.id]?.origin).toBe('this-tab')
    await client.cancel(again.id)
    expect(state(client).tasks[again.id]?.status).toBe('cancelled')
    await expect(client.cancel(again.id)).rejects.toMatchObject({ code: 'TASK_ALREADY_ENDED', status: 409 })
  })

  it('lists tasks, all pages of them', async () => {
    const all = Array.from({ length: 5 }, () => server.put('alice'))
    const { client, signIn } = browser.openTab()
    await signIn()
    expect((await listTasks(client)).map(({ id }) => id)).toEqual(all.map(({ id }) => id))
    expect(await listTasks(client, { status: 'settled' })).toEqual([])
  })

  it('says to the server which statuses and which type it wants', async () => {
    const asked: string[] = []
    const request = async (_: string, path: string) => {
      asked.push(path)
      return JSON.parse('{"tasks": [], "nextCursor": null}')
    }
    await listTasks({ request })
    await listTasks({ request }, { status: 'failed', type: 'image' })
    await listTasks({ request }, { status: ['failed', 'cancelled'] })
    const queries = asked.map((path) => Object.fromEntries(new URL(path, 'http://server').searchParams))
    expect(queries).toEqual([
      { limit: '200' },
      { limit: '200', status: 'failed', type: 'image' },
      { limit: '200', status: 'failed,cancelled' },
    ])
  })

  it('reads conversations, and all pages of their messages', async () => {
    const { client, signIn } = browser.openTab()
    await signIn()
    const made = await createConversations(client).create({ title: 'Lighthouses' })
    const { id } = made
    server.putConversation('bob')
    expect(await createConversations(client).list()).toEqual([made])
    expect(await createConversations(client).overview()).toEqual({
      conversations: [made],
      unreadConversations: 0,
    })
    const messages = await createConversations(client).messages(id)
    expect(messages.map((message) => message.id)).toEqual(['message-0', 'message-1', 'message-2'])
    await createConversations(client).markRead(id)
    expect(server.count('POST', `/v1/conversations/${id}/read`)).toBe(1)
  })
})

describe('accounts', () => {
  it('reads and sends nothing without a user', async () => {
    const { client } = browser.openTab()
    await expect(client.submit(submitBody)).rejects.toMatchObject({ code: 'SIGNED_OUT' })
    await expect(createConversations(client).list()).rejects.toMatchObject({ code: 'SIGNED_OUT' })
    await expect(client.refresh()).rejects.toMatchObject({ code: 'SIGNED_OUT' })
    await client.logout()
    expect(server.requests).toEqual([])
    expect(await browser.indexedDB.databases()).toEqual([])
  })

  it('asks for a fresh token after a 401, once', async () => {
    server.refuseToken('alice')
    const { client, signIn, tokens } = browser.openTab()
    await signIn()
    await pushing(client)
    // The stream takes the token that the first call had renewed.
    expect(tokens).toEqual([{ fresh: false }, { fresh: true }, { fresh: false }])

    server.refuseToken('alice.fresh')
    tokens.length = 0
    await expect(client.refresh()).rejects.toMatchObject({ code: 'TOKEN_EXPIRED', status: 401 })
    expect(tokens).toEqual([{ fresh: false }, { fresh: true }])
  })

  it('renews an expired token once for eight submits', async () => {
    const { client, signIn, tokens } = browser.openTab()
    await signIn()
    await pushing(client)
    server.refuseToken('alice')
    tokens.length = 0
    const tasks = await Promise.all(Array.from({ length: 8 }, () => submit(client)))
    expect(new Set(tasks.map(({ id }) => id)).size).toBe(8)
    expect(tokens.filter(({ fresh }) => fresh)).toHaveLength(1)
  })

  it('sends the token to no other host, and does not even ask for it', async () => {
    const { client, signIn, tokens } = browser.openTab()
    await signIn()
    await pushing(client)
    tokens.length = 0
    const asked = server.requests.length
    const { port } = new URL(server.url)
    for (const path of [
      `http://localhost:${port}/v1/tasks`,
      `//localhost:${port}/v1/tasks`,
      '@localhost/v1',
    ]) {
      await expect(client.request('GET', path)).rejects.toMatchObject({
        code: 'INVALID_REQUEST',
        status: null,
      })
    }
    expect(tokens).toEqual([])
    expect(server.requests).toHaveLength(asked)
    await client.request('GET', `${server.url}/v1/tasks`)
    expect(server.requests).toHaveLength(asked + 1)
  })

  it('survives a getToken that throws, and takes a new one for the same user', async () => {
    const { client, signIn } = browser.openTab()
    const getToken = () => Promise.reject(new Error('session service is down'))
    await client.setUser({ id: 'alice', getToken })
    await expect(client.refresh()).rejects.toMatchObject({ code: 'UNAUTHENTICATED', status: null })
    await signIn()
    await pushing(client)
  })

  it('log-out leaves nothing in memory or on disk; log-in brings it back from the server', async () => {
    const { client, signIn, sessionStorage } = browser.openTab()
    await signIn()
    await pushing(client)
    const task = await submit(client)
    await client.logout()
    expect(state(client)).toMatchObject({
      userId: null,
      restore: 'signed-out',
      tasks: {},
      connection: 'offline',
    })
    expect([...sessionStorage.keys()]).toEqual([`holdfast:${browser.app}:tab`])
    await until(() => server.streams.size === 0)

    let release = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    server.next('POST /v1/sync', { kind: 'hold', until: held })
    await signIn()
    expect(state(client)).toMatchObject({ restore: 'loading', tasks: {} })
    release()
    await confirmed(client)
    expect(state(client).tasks).toHaveProperty(task.id)
  })

  it('setUser(null) stops without deleting the local copy', async () => {
    const task = server.put('alice')
    const { client, signIn } = browser.openTab()
    await signIn()
    await pushing(client)
    browser.clock.advance(250)
    await client.setUser(null)
    expect(state(client)).toMatchObject({ userId: null, tasks: {} })
    server.goDown()
    await signIn()
    expect(state(client)).toMatchObject({ restore: 'from-cache', tasks: { [task.id]: { stale: true } } })
  })

  it('drops late replies of the user before, even when fetch ignores the abort', async () => {
    let release = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    const stubborn: typeof fetch = (input, init) => fetch(input, { ...init, signal: null })
    const { client, signIn } = browser.openTab({ fetch: stubborn })
    await signIn('alice')
    await pushing(client)
    server.next('POST /v1/tasks', { kind: 'hold', until: held })
    const submitting = submit(client)
    const outcome = expect(submitting).rejects.toMatchObject({ code: 'SIGNED_OUT' })
    await until(() => server.count('POST', '/v1/tasks') === 1)

    await signIn('bob')
    await outcome
    release()
    await until(() => server.created() === 1)
    const theirs = server.put('bob')
    await until(() => theirs.id in state(client).tasks)
    expect(Object.keys(state(client).tasks)).toEqual([theirs.id])
    server.breakStreams()
  })

  it('does not mix users who switch faster than the disk answers', async () => {
    server.put('alice')
    const task = server.put('bob')
    const { client, signIn } = browser.openTab()
    await Promise.all([signIn('alice'), signIn('bob'), signIn('alice'), signIn('bob')])
    await pushing(client)
    expect(state(client).userId).toBe('bob')
    expect(Object.keys(state(client).tasks)).toEqual([task.id])
    await until(() => server.streams.size === 1)
  })

  it('close() lets go of everything, twice if need be', async () => {
    const { client, signIn } = browser.openTab()
    await signIn()
    await pushing(client)
    await client.close()
    await client.close()
    await until(() => server.streams.size === 0)
    expect(browser.clock.waiting).toBe(0)
  })
})
