import { IDBFactory } from 'fake-indexeddb'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createBrowser, elapse, type Tab, type TabOptions, until } from '../../test/browser.ts'
import { type ContractServer, startContractServer } from '../../test/contract-server.ts'
import { readEverything } from '../../test/read-everything.ts'

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

const SECRET = 'what alice asked for'
const state = (tab: Tab) => tab.client.store.getState()
const found = async () => JSON.stringify(await readEverything(browser.indexedDB, browser.localStorage))
const wish = { type: 'image', params: { prompt: SECRET } }

async function openTab(options?: TabOptions) {
  const tab = browser.openTab(options)
  await tab.signIn()
  await until(() => state(tab).restore === 'confirmed')
  return tab
}

/** Nothing that tells what alice did: only the mark, and who led. */
async function expectNoTrace(taskIds: string[] = []) {
  const text = await found()
  for (const trace of [SECRET, ...taskIds]) expect(text).not.toContain(trace)
}

/** Lets channels, sockets and the database work. */
async function settle() {
  for (let n = 0; n < 30; n++) await new Promise((resolve) => setImmediate(resolve))
}

/** A tab that the others cannot reach: it stands still, or hears nothing. */
const DEAF = { openChannel: null }

describe('a log-out', () => {
  it('is final for a tab that was about to write', async () => {
    const { id } = server.put('alice', { params: { prompt: SECRET } })
    const tab = await openTab()
    const other = await openTab({ environment: DEAF })
    await elapse(browser.clock, async () => (await found()).includes(SECRET), 250)
    // The other tab has something to write, and does not hear of the log-out.
    server.change(id, { progress: 50 })
    await elapse(browser.clock, () => state(other).tasks[id]?.progress === 50, 100)
    await tab.client.logout()
    browser.clock.advance(1_000)
    other.page.dispatchEvent(new Event('pagehide'))
    await settle()
    await other.client.close()
    await expectNoTrace([id])
  })

  it.each(['pageshow', 'visibilitychange', 'resume', 'storage'])(
    'reaches a page that heard nothing of it, at the latest with its %s',
    async (event) => {
      const { id } = server.put('alice', { params: { prompt: SECRET } })
      const tab = await openTab()
      const away = await openTab({ environment: DEAF })
      away.page.dispatchEvent(new Event('pagehide'))
      await tab.client.logout()
      expect(id in state(away).tasks).toBe(true)
      const asked = server.requests.length
      away.page.dispatchEvent(Object.assign(new Event(event), { persisted: true }))
      // At once, before anything is painted.
      expect(state(away)).toMatchObject({ userId: null, tasks: {}, unsent: {} })
      browser.clock.advance(1_000)
      await settle()
      await expectNoTrace([id])
      expect(server.requests.length).toBe(asked)
    },
  )

  it('reaches such a page by the disk where there is no localStorage', async () => {
    const { id } = server.put('alice', { params: { prompt: SECRET } })
    const tab = await openTab({ environment: { localStorage: null } })
    const away = await openTab({ environment: { ...DEAF, localStorage: null } })
    await elapse(browser.clock, async () => (await found()).includes(SECRET), 250)
    away.page.dispatchEvent(new Event('pagehide'))
    await settle()
    await tab.client.logout()
    await expectNoTrace([id])
    away.page.dispatchEvent(Object.assign(new Event('pageshow'), { persisted: true }))
    await until(() => state(away).userId === null)
    browser.clock.advance(1_000)
    await settle()
    await expectNoTrace([id])
  })

  it('before anybody has signed in to this page deletes what the last user left', async () => {
    const { id } = server.put('alice', { params: { prompt: SECRET } })
    const before = await openTab()
    await (await before.client.submit(wish)).task
    await before.client.close()
    expect(await found()).toContain(SECRET)
    const { client } = browser.openTab()
    await client.logout()
    await expectNoTrace([id])
    // And it is as final as any other.
    const next = browser.openTab()
    server.goDown()
    await next.signIn()
    expect(state(next)).toMatchObject({ restore: 'loading', tasks: {} })
  })

  it('does not tell which results the app has had, and remembers them all the same', async () => {
    const handled: string[] = []
    const tab = browser.openTab()
    tab.client.onSettled((task) => handled.push(task.id))
    await tab.signIn()
    await until(() => state(tab).restore === 'confirmed')
    const { id } = server.put('alice')
    await until(() => id in state(tab).tasks)
    server.change(id, { status: 'completed' })
    await until(() => handled.length === 1)
    await settle()
    await tab.client.logout()
    await expectNoTrace([id])
    await tab.signIn()
    await until(() => id in state(tab).tasks && state(tab).restore === 'confirmed')
    await settle()
    expect(handled).toEqual([id])
  })

  it('before anybody has signed in reaches the tabs where somebody has', async () => {
    server.put('alice')
    const tab = await openTab()
    await browser.openTab().client.logout()
    tab.page.dispatchEvent(new Event('storage'))
    expect(state(tab).userId).toBeNull()
  })

  it('before anybody has signed in does not wait for a database that another page holds up', async () => {
    server.put('alice', { params: { prompt: SECRET } })
    const tab = await openTab()
    await elapse(browser.clock, () => JSON.stringify([...browser.localStorage]).includes(SECRET), 250)
    const held = Object.assign(new IDBFactory(), { databases: () => new Promise<never>(() => {}) })
    void browser.openTab({ environment: { indexedDB: held } }).client.logout()
    expect(JSON.stringify([...browser.localStorage])).not.toContain(SECRET)
    tab.page.dispatchEvent(new Event('pageshow'))
    expect(state(tab).userId).toBeNull()
  })

  it('of one user leaves another alone', async () => {
    const bob = browser.openTab()
    server.put('bob')
    await bob.signIn('bob')
    await until(() => state(bob).restore === 'confirmed')
    const tab = await openTab()
    await tab.client.logout()
    bob.page.dispatchEvent(new Event('storage'))
    bob.page.dispatchEvent(new Event('pageshow'))
    await settle()
    expect(Object.keys(state(bob).tasks)).toHaveLength(1)
  })

  it('then setUser(null) writes nothing', async () => {
    const { id } = server.put('alice', { params: { prompt: SECRET } })
    const tab = await openTab()
    const other = await openTab()
    server.change(id, { progress: 50 })
    await until(() => state(other).tasks[id]?.progress === 50)
    await Promise.all([tab.client.logout(), other.client.setUser(null)])
    browser.clock.advance(1_000)
    await settle()
    await expectNoTrace([id])
  })

  it('keeps what is unsent for the next log-in, unless it is to forget', async () => {
    for (const forget of [false, true]) {
      const tab = await openTab()
      server.goDown()
      ;(await tab.client.submit(wish)).task.catch(() => {})
      await tab.client.logout({ forget })
      expect((await found()).includes(SECRET)).toBe(!forget)
      server.comeUp()
      await tab.client.close()
    }
  })

  it('to forget before anybody has signed in deletes what is unsent, too', async () => {
    const tab = await openTab()
    server.goDown()
    ;(await tab.client.submit(wish)).task.catch(() => {})
    await tab.client.close()
    const { client } = browser.openTab()
    await client.logout()
    expect(await found()).toContain(SECRET)
    await client.logout({ forget: true })
    await expectNoTrace()
  })

  it('that a page hears of late does not delete what the next session has kept', async () => {
    const late: (() => void)[] = []
    let isStopped = false
    const stopped = await openTab({
      environment: {
        openChannel: (name) => {
          const port = new BroadcastChannel(name)
          return {
            postMessage: (message) => port.postMessage(message),
            set onmessage(listener: ((event: MessageEvent) => void) | null) {
              port.onmessage = (event) => (isStopped ? late.push(() => listener?.(event)) : listener?.(event))
            },
            close: () => port.close(),
          }
        },
      },
    })
    const tab = await openTab()
    isStopped = true
    await tab.client.logout({ forget: true })
    await tab.signIn()
    server.goDown()
    ;(await tab.client.submit(wish)).task.catch(() => {})
    await until(() => late.length > 0)
    isStopped = false
    for (const hear of late) hear()
    await settle()
    expect(state(stopped).userId).toBeNull()
    expect(await found()).toContain(SECRET)
  })

  it('refuses a submit that another tab makes at the same moment', async () => {
    const tab = await openTab()
    const other = await openTab({ environment: DEAF })
    server.goDown()
    const [, submitted] = await Promise.allSettled([
      tab.client.logout({ forget: true }),
      other.client.submit(wish),
    ])
    expect(submitted).toMatchObject({ status: 'rejected', reason: { code: 'SIGNED_OUT' } })
    await expectNoTrace()
  })
})

describe('setUser(null)', () => {
  it('deletes nothing and writes nothing', async () => {
    const { id } = server.put('alice', { params: { prompt: SECRET } })
    const tab = await openTab()
    await elapse(browser.clock, async () => (await found()).includes(SECRET), 250)
    await settle()
    server.change(id, { progress: 50 })
    await until(() => state(tab).tasks[id]?.progress === 50)
    const kept = async () => {
      const all = await readEverything(browser.indexedDB, browser.localStorage)
      // Who leads is no longer this tab.
      return Object.entries(all).filter(([key]) => !key.endsWith(':lease'))
    }
    const before = await kept()
    await tab.client.setUser(null)
    browser.clock.advance(1_000)
    await settle()
    expect(await kept()).toEqual(before)
  })
})
