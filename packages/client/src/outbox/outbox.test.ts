import { IDBObjectStore } from 'fake-indexeddb'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createBrowser, elapse, type Tab, until } from '../../test/browser.ts'
import { type ContractServer, startContractServer } from '../../test/contract-server.ts'
import { changeRecord, openIdbStore, readRecord } from '../cache/idb-store.ts'
import { type ClientEvents, createHoldfastTransport, toPlaceholders } from '../index.ts'

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

const DAY = 24 * 60 * 60 * 1_000
const OUTBOX = () => `holdfast:${browser.app}:alice:outbox`
const disk = () => openIdbStore(browser.indexedDB, `holdfast:${browser.app}`, browser.clock)

describe('a submit that is discarded', () => {
  it('before it could be sent is not sent when the network is back', async () => {
    const tab = await openPushing()
    server.goDown()
    const { key, task } = await tab.client.submit(wish)
    const outcome = expect(task).rejects.toMatchObject({ code: 'NOT_SENT' })
    await until(() => toPlaceholders(Object.values(state(tab).unsent), 0)[0]?.waiting?.reason === 'NETWORK')
    await tab.client.discard(key)
    await outcome
    expect(state(tab).unsent).toEqual({})
    server.comeUp()
    tab.page.dispatchEvent(new Event('online'))
    await elapse(browser.clock, () => state(tab).connection === 'push')
    await settle()
    expect(posts()).toEqual([])
  })

  it('in another tab than the one that sends it is not sent either', async () => {
    const tab = await openPushing()
    const other = await openTab()
    server.goDown()
    const { key, task } = await tab.client.submit(wish)
    const outcome = expect(task).rejects.toMatchObject({ code: 'NOT_SENT' })
    await until(() => state(other).unsent[key]?.waiting?.reason === 'NETWORK')
    await other.client.discard(key)
    server.comeUp()
    await elapse(browser.clock, () => state(tab).connection === 'push')
    await outcome
    expect(server.created()).toBe(0)
    expect([state(tab).unsent, state(other).unsent]).toEqual([{}, {}])
  })

  it.each(['this tab', 'another tab'])(
    'in %s while the server takes it is cancelled there',
    async (where) => {
      const tab = await openPushing()
      const other = where === 'this tab' ? tab : await openTab()
      const { promise: held, resolve: release } = Promise.withResolvers<void>()
      server.next('POST /v1/tasks', { kind: 'hold', until: held })
      const { key } = await tab.client.submit(wish)
      await until(() => posts().length === 1 && key in state(other).unsent)
      await other.client.discard(key)
      await until(() => Object.keys(state(tab).unsent).length === 0)
      release()
      await until(() => Object.values(state(tab).tasks)[0]?.status === 'cancelled')
      expect(server.created()).toBe(1)
      await until(async () => Object.keys((await readRecord(disk(), OUTBOX())) as object).length === 0)
    },
  )

  it('after an answer that was lost is cancelled at the server, which has it', async () => {
    const tab = await openPushing()
    server.next('POST /v1/tasks', { kind: 'lose-answer' })
    const { key, task } = await tab.client.submit(wish)
    task.catch(() => {})
    await until(() => state(tab).unsent[key]?.waiting)
    await tab.client.discard(key)
    expect(state(tab).unsent).toEqual({})
    await elapse(browser.clock, () => Object.values(state(tab).tasks)[0]?.status === 'cancelled')
    expect(posts()).toHaveLength(1)
    await until(async () => Object.keys((await readRecord(disk(), OUTBOX())) as object).length === 0)
  })

  it('in a tab that dies before the server answers is cancelled by another one', async () => {
    const dying = await openMortal()
    const { promise: held, resolve: release } = Promise.withResolvers<void>()
    server.next('POST /v1/tasks', { kind: 'hold', until: held })
    const { key } = await dying.client.submit(wish)
    await until(() => posts().length === 1)
    await dying.client.discard(key)
    dying.kill()
    release()
    const other = await openTab()
    await elapse(browser.clock, () => Object.values(state(other).tasks)[0]?.status === 'cancelled')
    expect(server.created()).toBe(1)
    await until(async () => Object.keys((await readRecord(disk(), OUTBOX())) as object).length === 0)
  })

  it('under a placeholder that the app uses again takes no other task with it', async () => {
    const tab = await openPushing()
    server.next('POST /v1/tasks', { kind: 'fail', code: 'UNAVAILABLE' })
    const { key, task } = await tab.client.submit({ ...wish, placeholderId: 'card' })
    task.catch(() => {})
    await until(() => state(tab).unsent[key]?.waiting)
    await tab.client.discard(key)
    const again = await tab.client.submit({ ...wish, placeholderId: 'card' })
    const { id } = await again.task
    const isEmpty = async () => Object.keys((await readRecord(disk(), OUTBOX())) as object).length === 0
    await elapse(browser.clock, isEmpty)
    await settle()
    expect(state(tab).tasks[id]?.status).toBe('pending')
  })
})

describe('what a submit is answered with', () => {
  it('is no success when it is an error of any kind: it is tried again', async () => {
    let tries = 0
    const tab = await openTab({
      transport: (link) => {
        const real = createHoldfastTransport()(link)
        return {
          ...real,
          async submit(body, key) {
            tries += 1
            if (tries === 1) throw new TypeError('of the transport itself')
            if (tries === 2) return undefined as never
            return real.submit(body, key)
          },
        }
      },
    })
    const { task } = await tab.client.submit(wish)
    await elapse(browser.clock, () => tries >= 3, 250)
    expect((await task).type).toBe('image')
    await until(() => Object.keys(state(tab).unsent).length === 0)
    expect(Object.keys(state(tab).tasks)).toEqual([(await task).id])
  })

  it('says why it waits, and until when', async () => {
    const tab = await openPushing()
    server.next('POST /v1/tasks', { kind: 'fail', code: 'RATE_LIMITED', retryAfter: 46 })
    const { key } = await tab.client.submit(wish)
    const waiting = () => toPlaceholders(Object.values(state(tab).unsent), 0)[0]?.waiting
    await until(() => waiting())
    expect(waiting()).toMatchObject({ reason: 'RATE_LIMITED', message: expect.stringContaining('.') })
    const left = Date.parse(waiting()?.retryAt ?? '') - (browser.clock.now() + state(tab).clockOffset)
    expect(Math.round(left / 1_000)).toBe(46)
    expect(state(tab).unsent[key]?.status).toBe('pending')
    browser.clock.advance(46_500)
    await until(() => server.created() === 1)
  })
})

describe('storage that is full', () => {
  afterEach(() => vi.restoreAllMocks())

  it('neither loses nor doubles a card, and keeps it on disk as soon as there is room', async () => {
    const tab = await openPushing()
    server.goDown()
    await (await tab.client.submit({ ...wish, placeholderId: 'on-disk' })).placeholderId
    browser.clock.advance(1)
    const put = vi.spyOn(IDBObjectStore.prototype, 'put').mockImplementation(() => {
      throw new DOMException('no room', 'QuotaExceededError')
    })
    const { storage } = await tab.client.submit({ ...wish, placeholderId: 'in-memory' })
    expect(storage).toBe('memory')
    const both = [
      ['on-disk', 'unsent', 'this-tab'],
      ['in-memory', 'unsent', 'this-tab'],
    ]
    await until(() => shown(tab).length === 2)
    // Somebody looks at the disk again, which knows only one.
    tab.page.dispatchEvent(new Event('visibilitychange'))
    await settle()
    expect(shown(tab)).toEqual(both)
    put.mockRestore()
    tab.page.dispatchEvent(new Event('online'))
    await until(async () => Object.keys((await readRecord(disk(), OUTBOX())) as object).length === 2)
    server.comeUp()
    await elapse(browser.clock, () => server.created() === 2, 500)
    await until(() => Object.keys(state(tab).unsent).length === 0)
    expect(server.created()).toBe(2)
  })
})

describe('what other pages left behind', () => {
  it('is sent by the clock alone, without any event, while another tab lives', async () => {
    const leader = await openPushing()
    const doomed = await openMortal()
    await until(() => state(doomed).role === 'follower' || state(doomed).role === 'leader')
    server.goDown()
    const { placeholderId } = await doomed.client.submit(wish)
    await until(() => shown(leader)[0]?.[0] === placeholderId)
    doomed.kill()
    server.comeUp()
    const crashedAt = browser.clock.now()
    await elapse(browser.clock, () => server.created() === 1, 250)
    expect(browser.clock.now() - crashedAt).toBeLessThanOrEqual(5_000)
  })

  it('is sent though something of another page that was taken over earlier still waits', async () => {
    const leader = await openPushing()
    server.goDown()
    const keys: string[] = []
    for (let n = 0; n < 2; n++) {
      const doomed = await openMortal()
      const { key } = await doomed.client.submit(wish)
      keys.push(key)
      await until(() => key in state(leader).unsent)
      doomed.kill()
      // The leader has taken it over, and gets no answer either.
      const sender = async () =>
        ((await readRecord(disk(), OUTBOX())) as Record<string, { sender: string }>)[key]?.sender
      await elapse(browser.clock, async () => (await sender()) === state(leader).tabId, 500)
    }
    expect(Object.keys(state(leader).unsent).sort()).toEqual(keys.sort())
  })

  it('in the same tab, before it signed out and in again, is sent though that tab follows', async () => {
    const leader = await openPushing()
    const follower = await openTab({ environment: { isVisible: () => false } })
    await until(() => state(follower).restore === 'confirmed')
    server.goDown()
    const { task } = await follower.client.submit(wish)
    task.catch(() => {})
    await follower.client.setUser(null)
    await follower.signIn()
    server.comeUp()
    await elapse(browser.clock, () => server.created() === 1, 500)
    await until(() => Object.keys(state(leader).unsent).length === 0)
    expect(posts()).toHaveLength(1)
  })

  it('and is refused is told once, however often it is looked for', async () => {
    const tab = await openPushing()
    const told: ClientEvents['not-sent'][] = []
    tab.client.on('not-sent', (event) => told.push(event))
    const { promise: held, resolve: release } = Promise.withResolvers<void>()
    server.next('POST /v1/tasks', { kind: 'hold', until: held }, { kind: 'fail', code: 'INVALID_PARAMS' })
    server.next('POST /v1/tasks', { kind: 'fail', code: 'INVALID_PARAMS' })
    server.refuseToken('alice.fresh')
    server.refuseToken('alice')
    await tab.client.submit(wish)
    const online = () => tab.page.dispatchEvent(new Event('online'))
    online()
    release()
    for (let n = 0; n < 20; n++) {
      online()
      await settle()
    }
    await elapse(browser.clock, () => told.length > 0, 250)
    online()
    await settle()
    expect(told).toHaveLength(1)
    expect(posts().length).toBeLessThan(6)
  })

  it('of another release is kept for that release, neither shown nor sent', async () => {
    const foreign = { key: 'theirs', shape: 'of a later release' }
    await changeRecord(disk(), OUTBOX(), () => ({ theirs: foreign }))
    const tab = await openPushing()
    await (await tab.client.submit(wish)).task
    await until(() => Object.keys(state(tab).unsent).length === 0)
    expect(server.created()).toBe(1)
    expect(await readRecord(disk(), OUTBOX())).toEqual({ theirs: foreign })
  })
})

describe('a device whose clock is wrong', () => {
  it.each([
    ['a day slow', 1.5 * DAY],
    ['a day fast', -1.5 * DAY],
  ])('%s sends what was submitted before it heard the server', async (_, ahead) => {
    server.setClockAhead(ahead)
    server.goDown()
    const tab = await openTab()
    const { key } = await tab.client.submit(wish)
    expect(key in state(tab).unsent).toBe(true)
    server.comeUp()
    await elapse(browser.clock, () => server.created() === 1, 250)
    await until(() => Object.keys(state(tab).unsent).length === 0)
  })
})

describe('a device whose clock is set while a page is open', () => {
  const settable = () => {
    const { after, now } = browser.clock
    const clock = { ahead: 0, after, now: () => now() + clock.ahead }
    return clock
  }

  it('forward after a submit: asks the server before it gives that up', async () => {
    const clock = settable()
    const tab = await openTab({ environment: { clock } })
    await until(() => state(tab).connection === 'push')
    server.next('POST /v1/tasks', { kind: 'fail', code: 'INTERNAL' })
    await tab.client.submit(wish)
    await until(() => Object.values(state(tab).unsent)[0]?.waiting)
    clock.ahead = 1.5 * DAY
    await elapse(browser.clock, () => server.created() === 1, 250)
    await until(() => Object.keys(state(tab).unsent).length === 0)
  })

  it('back before a submit: that is not a day old when the server is heard', async () => {
    const clock = settable()
    clock.ahead = 1.5 * DAY
    const tab = await openTab({ environment: { clock } })
    await until(() => state(tab).connection === 'push')
    clock.ahead = 0
    server.next('POST /v1/tasks', { kind: 'fail', code: 'INTERNAL' })
    await tab.client.submit(wish)
    await until(() => Object.values(state(tab).unsent)[0]?.waiting)
    await tab.client.refresh()
    await elapse(browser.clock, () => server.created() === 1, 250)
    await until(() => Object.keys(state(tab).unsent).length === 0)
  })
})

describe('the browser’s own clean-up', () => {
  it('is asked to spare this site once, after the first submit', async () => {
    const asked: string[] = []
    const environment = {
      persist: async () => {
        asked.push('persist')
        return true
      },
    }
    const tab = await openTab({ environment })
    expect(asked).toEqual([])
    await (await tab.client.submit(wish)).task
    await (await tab.client.submit(wish)).task
    await (await (await openTab({ environment })).client.submit(wish)).task
    expect(asked).toEqual(['persist'])
  })
})

/** Lets everything that needs no time happen. */
async function settle() {
  for (let n = 0; n < 20; n++) await new Promise((resolve) => setImmediate(resolve))
}
