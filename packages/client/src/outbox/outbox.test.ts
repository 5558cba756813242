import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createBrowser, elapse, type Tab, until } from '../../test/browser.ts'
import { type ContractServer, startContractServer } from '../../test/contract-server.ts'
import { type ClientEvents, toPlaceholders } from '../index.ts'

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

const state = (tab: Tab) => tab.client.store.getState()
const wish = { type: 'image', params: { prompt: 'a lighthouse' } }
const posts = () => server.requests.filter((request) => request.path === '/v1/tasks')
const shown = (tab: Tab) => {
  const { tasks, unsent } = state(tab)
  const all = [...Object.values(tasks), ...Object.values(unsent)]
  return toPlaceholders(all, browser.clock.now()).map(({ id, detail, origin }) => [id, detail, origin])
}

async function openTab(options?: Parameters<typeof browser.openTab>[0], user?: string) {
  const tab = browser.openTab(options)
  await tab.signIn(user)
  return tab
}

async function openPushing() {
  const tab = await openTab()
  await until(() => state(tab).connection === 'push')
  return tab
}

/** Everything of the tab stops, as with SIGKILL: nothing is said or cleaned up. */
function openMortal() {
  let alive = true
  const { after, now } = browser.clock
  return openTab({
    environment: {
      clock: { now, after: (ms, run) => after(ms, () => alive && run()) },
      fetch: (input, init) => (alive ? fetch(input, init) : new Promise(() => {})),
      openChannel: (name) => {
        const port = new BroadcastChannel(name)
        return {
          postMessage: (message) => alive && port.postMessage(message),
          set onmessage(listener: ((event: MessageEvent) => void) | null) {
            port.onmessage = (event) => alive && listener?.(event)
          },
          close: () => port.close(),
        }
      },
      // The lock goes with the tab; here simply nobody holds it.
      locks: null,
      indexedDB: browser.indexedDB,
    },
  }).then((tab) => ({ ...tab, kill: () => (alive = false) }))
}

describe('the outbox', () => {
  it('shows a placeholder before anything is sent, and puts the task in its place in one step', async () => {
    const tab = await openPushing()
    let release = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    server.next('POST /v1/tasks', { kind: 'hold', until: held })
    const seen: unknown[] = []
    tab.client.store.subscribe(() => {
      const now = JSON.stringify(shown(tab))
      if (seen.at(-1) !== now) seen.push(now)
    })
    const { task, placeholderId, storage } = await tab.client.submit({ ...wish, placeholderId: 'card' })
    expect(storage).toBe('durable')
    expect(shown(tab)).toEqual([[placeholderId, 'unsent', 'this-tab']])
    release()
    const { id } = await task
    await until(() => Object.keys(state(tab).unsent).length === 0)
    expect(state(tab).tasks[id]).toMatchObject({ placeholderId, origin: 'this-tab' })
    expect(seen).toEqual([
      JSON.stringify([[placeholderId, 'unsent', 'this-tab']]),
      JSON.stringify([[placeholderId, 'waiting', 'this-tab']]),
    ])
  })

  it('F8: is on disk before anything is sent', async () => {
    const tab = await openPushing()
    let onDisk: unknown
    const tabThatLooks = await openTab({
      environment: {
        fetch: async (input, init) => {
          if (String(input).endsWith('/v1/tasks') && onDisk === undefined) {
            const other = await openTab({ environment: { locks: null, openChannel: null } })
            onDisk = Object.values(state(other).unsent).map(({ params }) => params)
            await other.client.close()
          }
          return fetch(input, init)
        },
      },
    })
    await (await tabThatLooks.client.submit(wish)).task
    expect(onDisk).toEqual([wish.params])
    await tab.client.close()
  })

  it('keeps a wish while offline, over a reload, and sends it once when the network is back', async () => {
    const tab = await openPushing()
    server.goDown()
    const { placeholderId, key } = await tab.client.submit(wish)
    await tab.client.close()

    const next = await openTab({ sessionStorage: tab.sessionStorage })
    expect(shown(next)).toEqual([[placeholderId, 'unsent', 'this-tab']])
    server.comeUp()
    await elapse(browser.clock, () => server.created() === 1, 250)
    await until(() => Object.keys(state(next).unsent).length === 0)
    expect(shown(next)).toEqual([[placeholderId, 'waiting', 'this-tab']])
    expect(posts().map((request) => request.headers['idempotency-key'])).toEqual([key])
  })

  it('F8: a browser killed with the request under way: the next start sends it, and there is one task', async () => {
    const doomed = await openMortal()
    await until(() => state(doomed).role === 'leader')
    server.next('POST /v1/tasks', { kind: 'lose-answer' })
    const { placeholderId } = await doomed.client.submit(wish)
    await until(() => server.created() === 1)
    doomed.kill()

    const next = await openTab({ environment: { locks: null } })
    expect(shown(next)).toEqual([[placeholderId, 'unsent', 'other-tab']])
    await elapse(browser.clock, () => posts().length === 2 && Object.keys(state(next).unsent).length === 0)
    expect(server.created()).toBe(1)
    expect(shown(next)).toEqual([[placeholderId, 'waiting', 'other-tab']])
    // Whoever comes later has nothing left to send.
    const last = await openTab({ environment: { locks: null } })
    await elapse(browser.clock, () => state(last).restore === 'confirmed')
    browser.clock.advance(60_000)
    await until(() => state(last).restore === 'confirmed')
    expect(posts()).toHaveLength(2)
  })

  it('is sent by its own tab while that lives, however many others there are', async () => {
    const leader = await openPushing()
    const others = [await openTab(), await openTab()]
    for (const tab of others) await until(() => state(tab).restore === 'confirmed')
    let release = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    server.next('POST /v1/tasks', { kind: 'hold', until: held })
    const { task } = (await others[0]?.client.submit(wish)) ?? {}
    await until(() => Object.keys(state(leader).unsent).length === 1)
    const pongs = () =>
      leader.client.inspect().session?.messages.filter(({ message }) => message.kind === 'pong').length ?? 0
    const before = pongs()
    leader.page.dispatchEvent(new Event('online'))
    // The leader has asked whether the other tab lives, and been told.
    await until(() => pongs() > before && posts().length === 1)
    release()
    await task
    for (const tab of [leader, ...others]) await until(() => Object.keys(state(tab).unsent).length === 0)
    expect(posts()).toHaveLength(1)
    expect(state(leader).tasks[(await task)?.id ?? '']?.origin).toBe('other-tab')
  })

  it('gives up after a day, visibly, and can be sent again or taken off', async () => {
    const tab = await openPushing()
    const told: ClientEvents['not-sent'][] = []
    tab.client.on('not-sent', (event) => told.push(event))
    server.goDown()
    const { key, placeholderId, task } = await tab.client.submit(wish)
    const outcome = expect(task).rejects.toMatchObject({ code: 'NOT_SENT' })
    await elapse(browser.clock, () => told.length === 1, 3_600_000)
    await outcome
    await until(() => shown(tab)[0]?.[1] === 'not-sent')
    expect(shown(tab)).toEqual([[placeholderId, 'not-sent', 'this-tab']])
    expect(state(tab).unsent[key]?.failure).toMatchObject({ code: 'NOT_SENT', retryable: true })

    server.comeUp()
    await tab.client.resend(key)
    await elapse(browser.clock, () => server.created() === 1, 250)
    await until(() => shown(tab)[0]?.[1] === 'waiting')

    server.next('POST /v1/tasks', { kind: 'fail', code: 'INVALID_PARAMS' })
    const refused = await tab.client.submit(wish)
    await expect(refused.task).rejects.toMatchObject({ code: 'INVALID_PARAMS' })
    await until(() => state(tab).unsent[refused.key]?.status === 'failed')
    await tab.client.discard(refused.key)
    expect(state(tab).unsent).toEqual({})
  })

  it('waits for the same user’s next log-in, is shown to nobody else, and goes with `forget`', async () => {
    const tab = await openPushing()
    server.goDown()
    const { task, placeholderId } = await tab.client.submit(wish)
    const outcome = expect(task).rejects.toMatchObject({ code: 'SIGNED_OUT' })
    await tab.client.logout()
    await outcome
    expect(state(tab).unsent).toEqual({})
    await tab.signIn('bob')
    expect(state(tab).unsent).toEqual({})
    await tab.client.setUser(null)
    await tab.signIn('alice')
    expect(shown(tab)).toEqual([[placeholderId, 'unsent', 'this-tab']])
    await tab.client.logout({ forget: true })
    await tab.signIn('alice')
    expect(state(tab).unsent).toEqual({})
    expect([...browser.localStorage.keys()].filter((key) => key.endsWith(':mine'))).toEqual([])
  })

  it('F9: a retry takes over the placeholder from the first moment, and a refused one gives it back', async () => {
    const tab = await openPushing()
    const failed = server.put('alice', { status: 'failed', placeholderId: 'card' })
    await until(() => failed.id in state(tab).tasks)
    server.next(`POST /v1/tasks/${failed.id}/retry`, { kind: 'fail', code: 'TASK_NOT_RETRYABLE' })
    const details = new Set<unknown>()
    tab.client.store.subscribe(() => details.add(shown(tab)[0]?.[1]))
    await expect(tab.client.retry(failed.id)).rejects.toMatchObject({ code: 'TASK_NOT_RETRYABLE' })
    await until(() => Object.keys(state(tab).unsent).length === 0)
    expect([...details]).toEqual(['unsent', 'failed'])
    const again = await tab.client.retry(failed.id)
    expect(again.retryOf).toBe(failed.id)
    expect(shown(tab)).toEqual([['card', 'waiting', 'this-tab']])
  })

  it('the same key twice at the same time, or one after the other, is one task and leaves nothing behind', async () => {
    const tab = await openPushing()
    const [first, second] = await Promise.all([
      tab.client.submit({ ...wish, idempotencyKey: 'k' }),
      tab.client.submit({ ...wish, idempotencyKey: 'k' }),
    ])
    const ids = [(await first.task).id, (await second.task).id]
    const third = await tab.client.submit({ ...wish, idempotencyKey: 'k' })
    ids.push((await third.task).id)
    expect(new Set(ids).size).toBe(1)
    await until(() => Object.keys(state(tab).unsent).length === 0)
    await tab.client.close()
    expect(shown(await openTab({ environment: { locks: null, openChannel: null } }))).toHaveLength(1)
    expect(server.created()).toBe(1)
  })

  it('says that storage is memory where nothing can be kept, and sends all the same', async () => {
    const tab = await openTab({ environment: { indexedDB: null } })
    const { storage, task } = await tab.client.submit(wish)
    expect(storage).toBe('memory')
    await task
    expect(server.created()).toBe(1)
  })
})
