import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createBrowser, elapse, type Tab, until } from '../../test/browser.ts'
import { type ContractServer, startContractServer } from '../../test/contract-server.ts'
import { trackedTask } from '../../test/tracked-task.ts'
import type { ChannelPort } from './tab-channel.ts'
import { type Envelope, PROTOCOL } from './tab-message.ts'

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

async function openLeader() {
  const tab = browser.openTab()
  await tab.signIn()
  await until(() => state(tab).connection === 'push')
  return tab
}

async function openFollower() {
  const tab = browser.openTab()
  await tab.signIn()
  await until(() => state(tab).connection === 'follower' && state(tab).restore === 'confirmed')
  return tab
}

function persisted(type: string) {
  return Object.assign(new Event(type), { persisted: true })
}

describe('several tabs', () => {
  it('one streams, all are updated, and the others send nothing', async () => {
    const task = server.put('alice')
    const leader = await openLeader()
    const followers = [await openFollower(), await openFollower()]
    server.change(task.id, { status: 'running', progress: 50 })
    for (const tab of [leader, ...followers]) await until(() => state(tab).tasks[task.id]?.progress === 50)
    expect(server.streams.size).toBe(1)
    expect(server.requests.map((request) => request.path)).toEqual(['/v1/sync', '/v1/stream'])
    expect(followers.map((tab) => state(tab).role)).toEqual(['follower', 'follower'])
  })

  it('a follower is told of what was restored and what ended, too', async () => {
    const task = server.put('alice')
    await openLeader()
    const tab = browser.openTab()
    const heard: string[] = []
    tab.client.on('restored', ({ tasks }) => heard.push(`restored ${tasks.length}`))
    tab.client.on('settled', ({ change }) => heard.push(change))
    await tab.signIn()
    await until(() => state(tab).restore === 'confirmed')
    server.change(task.id, { status: 'completed' })
    await until(() => state(tab).tasks[task.id]?.status === 'completed')
    expect(heard).toEqual(['restored 1', 'completed'])
  })

  it('when the leader closes another takes over and resumes where it was', async () => {
    const task = server.put('alice')
    const leader = await openLeader()
    const follower = await openFollower()
    server.change(task.id, { progress: 30 })
    await until(() => state(follower).tasks[task.id]?.progress === 30)
    await leader.client.close()
    server.change(task.id, { progress: 60 })
    await until(() => state(follower).connection === 'push')
    expect(state(follower)).toMatchObject({ role: 'leader', tasks: { [task.id]: { progress: 60 } } })
    expect(server.count('POST', '/v1/sync')).toBe(1)
    expect(server.requests.at(-1)?.headers['last-event-id']).toBeDefined()
    await until(() => server.streams.size === 1)
  })

  it('another takes over while a tab that stands still holds up every write to the database', async () => {
    const leader = await openLeader()
    const follower = await openFollower()
    const letGo = await holdUpWrites()
    void leader.client.close()
    await until(() => state(follower).connection === 'push')
    expect(follower.client.inspect().session).toMatchObject({ epoch: 2, level: 'web-lock' })
    letGo()
  })

  /** A transaction that never ends, as in a renderer that was stopped in the middle of it. */
  async function holdUpWrites() {
    const opening = browser.indexedDB.open(`holdfast:${browser.app}`)
    await new Promise((resolve) => opening.addEventListener('success', resolve))
    const records = opening.result.transaction('kept', 'readwrite').objectStore('kept')
    let held = true
    const hold = () => {
      if (held) records.get('nothing').onsuccess = hold
    }
    hold()
    return () => {
      held = false
    }
  }

  it('a submit in any tab shows in all of them at once', async () => {
    const leader = await openLeader()
    const follower = await openFollower()
    const { task: submitted } = await follower.client.submit({ type: 'image', params: {} })
    const task = await submitted
    await until(() => task.id in state(leader).tasks)
    expect(state(follower).tasks[task.id]?.origin).toBe('this-tab')
    await until(() => state(leader).tasks[task.id]?.origin === 'other-tab')
  })

  it('origin is this tab (even reloaded), another tab, or another device', async () => {
    const leader = await openLeader()
    const follower = await openFollower()
    const elsewhere = server.put('alice')
    const submission = await follower.client.submit({ type: 'video', params: {}, placeholderId: 'card' })
    const { id } = await submission.task
    await until(() => state(leader).tasks[id]?.origin === 'other-tab')
    await until(() => elsewhere.id in state(follower).tasks)

    await follower.client.close()
    const reloaded = browser.openTab({ sessionStorage: follower.sessionStorage })
    await reloaded.signIn()
    await until(() => state(reloaded).restore === 'confirmed')
    expect(state(reloaded).tasks[id]?.origin).toBe('this-tab')
    expect(state(reloaded).tasks[elsewhere.id]?.origin).toBe('other-device')

    await reloaded.client.close()
    await leader.client.close()
    const fromCopy = await openLeader()
    expect(state(fromCopy).tasks[id]?.origin).toBe('other-tab')

    const device = createBrowser(server.url).openTab()
    await device.signIn()
    await until(() => id in state(device).tasks)
    expect(state(device).tasks[id]?.origin).toBe('other-device')
    await device.client.close()
  })

  it('knows its own task even when the stream is faster than the reply', async () => {
    const tab = await openLeader()
    const origins = new Set<string>()
    tab.client.store.subscribe(({ tasks }) => {
      for (const task of Object.values(tasks)) origins.add(task.origin)
    })
    server.next('POST /v1/tasks', { kind: 'lose-answer' })
    let done = false
    const { task } = await tab.client.submit({ type: 'image', params: {}, placeholderId: 'card' })
    const submitting = task.then(() => {
      done = true
    })
    await until(() => Object.keys(state(tab).tasks).length === 1)
    await elapse(browser.clock, () => done, 100)
    await submitting
    expect([...origins]).toEqual(['this-tab'])
  })

  it('log-out in one tab signs out all tabs of that user, and deletes the copy for good', async () => {
    server.put('alice')
    const tabs = [await openLeader(), await openFollower(), await openFollower()]
    const bob = browser.openTab()
    await bob.signIn('bob')
    await until(() => state(bob).connection === 'push')
    await tabs[1]?.client.logout()
    for (const tab of tabs) await until(() => state(tab).restore === 'signed-out')
    for (const tab of tabs) expect(state(tab)).toMatchObject({ userId: null, tasks: {} })
    await until(() => server.streams.size === 1)
    expect(state(bob).userId).toBe('bob')

    browser.clock.advance(5_000)
    server.goDown()
    const next = browser.openTab()
    await next.signIn()
    expect(state(next)).toMatchObject({ restore: 'loading', tasks: {} })
  })

  it('a leader that does not answer is robbed, also where Web Locks are real', async () => {
    const task = server.put('alice')
    const robbed = navigator.locks
      .request(`holdfast:${browser.app}:alice`, () => new Promise(() => {}))
      .catch((error: DOMException) => error.name)
    const tab = browser.openTab()
    await tab.signIn()
    await until(() => state(tab).connection === 'follower')
    expect(state(tab).restore).toBe('loading')
    await elapse(browser.clock, () => state(tab).connection === 'push')
    expect(await robbed).toBe('AbortError')
    expect(state(tab).tasks).toHaveProperty(task.id)
  })

  it('a tab that only leads for itself does not answer for a leader that stands still', async () => {
    const forItself = browser.openTab({ environment: { locks: null, indexedDB: null } })
    await forItself.signIn()
    await until(() => state(forItself).connection === 'polling')
    const robbed = navigator.locks
      .request(`holdfast:${browser.app}:alice`, () => new Promise(() => {}))
      .catch((error: DOMException) => error.name)
    const tab = browser.openTab()
    await tab.signIn()
    await until(() => state(tab).connection === 'follower')
    await elapse(browser.clock, () => state(tab).connection === 'push')
    expect(await robbed).toBe('AbortError')
  })

  it('a page in the back/forward cache leads no more, and catches up when it returns', async () => {
    const leader = await openLeader()
    const follower = await openFollower()
    leader.page.dispatchEvent(persisted('pagehide'))
    await until(() => state(follower).connection === 'push')
    expect(state(leader).role).toBe('follower')
    leader.page.dispatchEvent(persisted('pageshow'))
    await until(() => state(leader).connection === 'follower')
    const task = server.put('alice')
    await until(() => task.id in state(leader).tasks)
    expect(server.streams.size).toBe(1)
  })

  it('a leader that goes leaves many cards at hand, a follower does not, and a log-out takes them', async () => {
    for (let n = 0; n < 300; n++) server.put('alice')
    const leader = await openLeader()
    const follower = await openFollower()
    const atHand = () => browser.localStorage.getItem(`holdfast:${browser.app}:alice:tasks`)
    follower.page.dispatchEvent(persisted('pagehide'))
    expect(atHand()).toBeNull()
    leader.page.dispatchEvent(persisted('pagehide'))
    expect(JSON.parse(atHand() ?? '')).toMatchObject({ tasks: { length: 300 } })
    leader.page.dispatchEvent(persisted('pageshow'))
    await until(() => state(leader).connection === 'push')
    await leader.client.logout()
    leader.page.dispatchEvent(persisted('pagehide'))
    expect(atHand()).toBeNull()
  })

  it('without locks or without a channel every tab polls for itself and opens no stream', async () => {
    const task = server.put('alice')
    const tabs = [
      browser.openTab({ environment: { locks: null, indexedDB: null } }),
      browser.openTab({ environment: { openChannel: null } }),
    ]
    for (const tab of tabs) await tab.signIn()
    for (const tab of tabs) await until(() => state(tab).connection === 'polling')
    server.change(task.id, { progress: 10 })
    for (const tab of tabs) await elapse(browser.clock, () => state(tab).tasks[task.id]?.progress === 10)
    expect(server.count('GET', '/v1/stream')).toBe(0)
    expect(server.requests.findLast((request) => request.path === '/v1/sync')?.body).toHaveProperty('cursor')
  })

  it('where locks are forbidden it leads for itself', async () => {
    const locks = { request: () => Promise.reject(new DOMException('sandboxed', 'SecurityError')) }
    const tab = browser.openTab({ environment: { locks, indexedDB: null } })
    await tab.signIn()
    await until(() => state(tab).connection === 'polling')
    expect(state(tab)).toMatchObject({ role: 'leader', restore: 'confirmed' })
  })

  it('after log-out and log-in, one’s own tasks are still this browser’s', async () => {
    const leader = await openLeader()
    const follower = await openFollower()
    const submission = await follower.client.submit({ type: 'image', params: {} })
    const { id } = await submission.task
    await follower.client.logout()
    await until(() => state(leader).restore === 'signed-out')
    await follower.signIn()
    await until(() => id in state(follower).tasks)
    expect(state(follower).tasks[id]?.origin).toBe('this-tab')
    await leader.signIn()
    await until(() => id in state(leader).tasks)
    expect(state(leader).tasks[id]?.origin).toBe('other-tab')
    await follower.client.logout({ forget: true })
    await until(() => state(leader).restore === 'signed-out')
    await leader.signIn()
    await until(() => id in state(leader).tasks)
    expect(state(leader).tasks[id]?.origin).toBe('other-device')
  })

  it('what an older leader says is not listened to', async () => {
    await openLeader()
    const follower = await openFollower()
    const channel = new BroadcastChannel(`holdfast:${browser.app}:alice`)
    const say = (epoch: number, id: string) => {
      const tasks = [trackedTask({ id })]
      const rest = { complete: false, confirmed: true, cursor: 'x', clockOffset: 0 }
      const message = { kind: 'states', epoch, tasks, gone: [], conversations: [], ...rest }
      channel.postMessage({ holdfast: PROTOCOL, from: 'ghost', visible: true, at: 0, message })
    }
    say(0, 'old')
    say(1, 'current')
    await until(() => 'current' in state(follower).tasks)
    expect(state(follower).tasks).not.toHaveProperty('old')
    channel.close()
  })

  it('a leader whose stream was superseded stands down, says its new epoch, and there is one stream', async () => {
    const tab = await openLeader()
    const epochs = () =>
      server.requests
        .filter(({ path }) => path === '/v1/stream')
        .map(({ headers }) => headers['x-holdfast-epoch'])
    server.endStreams('superseded')
    await until(() => state(tab).role === 'follower')
    await elapse(browser.clock, () => epochs().length === 2)
    await until(() => state(tab).connection === 'push')
    expect(epochs()).toEqual(['1', '2'])
    expect(server.streams.size).toBe(1)
  })

  /** The channel as a tab of the next release has it, whose protocol is one higher than ours. */
  function openChannelOfNextRelease(name: string): ChannelPort {
    const real = new BroadcastChannel(name)
    const port: ChannelPort = {
      onmessage: null,
      postMessage: (envelope) =>
        real.postMessage({ ...(envelope as Envelope), holdfast: (envelope as Envelope).holdfast + 1 }),
      close: () => real.close(),
    }
    real.onmessage = ({ data }) => {
      port.onmessage?.({ data: { ...data, holdfast: data.holdfast - 1 } } as MessageEvent)
    }
    return port
  }

  it('two releases in two tabs ask seldom, and their connections stay as they are', async () => {
    const leader = await openLeader()
    const other = browser.openTab({ environment: { openChannel: openChannelOfNextRelease } })
    await other.signIn()
    await until(() => state(other).connection === 'polling')
    const syncs = server.count('POST', '/v1/sync')
    const statuses: string[] = []
    for (const { client } of [leader, other]) {
      client.store.subscribe(({ connection }, before) => {
        if (connection !== before.connection) statuses.push(connection)
      })
    }
    for (let quarter = 0; quarter < 4; quarter++) {
      const end = browser.clock.now() + 15_000
      await elapse(browser.clock, () => {
        server.heartbeat()
        return browser.clock.now() >= end
      })
    }
    expect(server.count('POST', '/v1/sync') - syncs).toBeLessThanOrEqual(4)
    expect(statuses).toEqual([])
    expect([leader, other].map((tab) => state(tab).role)).toEqual(['leader', 'follower'])

    const task = server.put('alice')
    await elapse(browser.clock, () => [leader, other].every((tab) => task.id in state(tab).tasks), 1_000)
  })
})
