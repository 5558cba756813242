import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createBrowser, elapse, type Tab, until } from '../../test/browser.ts'
import { type ContractServer, startContractServer } from '../../test/contract-server.ts'
import { createPages } from '../../test/pages.ts'
import { browserEnvironment } from '../environment/environment.ts'

let server: ContractServer
let browser: ReturnType<typeof createBrowser>
let pages: ReturnType<typeof createPages>

beforeEach(async () => {
  server = await startContractServer()
  browser = createBrowser(server.url)
  pages = createPages()
})
afterEach(async () => {
  await browser.close()
  await server.stop()
  vi.doUnmock('broadcast-channel')
})

const state = (tab: Tab) => tab.client.store.getState()

/** A tab whose channel is the one that the browser's own environment offers. */
async function openTab() {
  const page = pages.openPage()
  const { localStorage, openChannel } = page.run(browserEnvironment)
  if (!openChannel) throw new Error('no way to reach other tabs')
  const tab = browser.openTab({
    environment: { page: page.window, localStorage, openChannel: page.within(openChannel), locks: null },
  })
  await tab.signIn()
  return tab
}

describe('without BroadcastChannel', () => {
  it('storage events carry the messages: one tab leads, and what it learns reaches the other', async () => {
    const leader = await openTab()
    await until(() => state(leader).connection === 'push')
    const follower = await openTab()
    await until(() => state(follower).connection === 'follower' && state(follower).restore === 'confirmed')
    const task = server.put('alice')
    await until(() => task.id in state(follower).tasks)
    server.change(task.id, { progress: 40 })
    await until(() => state(follower).tasks[task.id]?.progress === 40)
    expect(server.streams.size).toBe(1)
    expect(server.requests.map(({ path }) => path)).toEqual(['/v1/sync', '/v1/stream'])
    expect(leader.client.inspect().session).toMatchObject({ level: 'indexeddb', reason: 'free', epoch: 1 })
    expect(follower.client.inspect().session?.lease).toMatchObject({ owner: state(leader).tabId, epoch: 1 })
  })

  it('a log-out reaches the other tab', async () => {
    const leader = await openTab()
    await until(() => state(leader).connection === 'push')
    const follower = await openTab()
    await until(() => state(follower).connection === 'follower')
    await follower.client.logout()
    await until(() => state(leader).restore === 'signed-out')
  })

  it('no message stays behind, which would outlive a log-out', async () => {
    const leader = await openTab()
    await until(() => state(leader).connection === 'push')
    const follower = await openTab()
    await until(() => state(follower).connection === 'follower' && state(follower).restore === 'confirmed')
    const task = server.put('alice')
    await until(() => task.id in state(follower).tasks)
    await new Promise((resolve) => setTimeout(resolve, 20))
    const channels = [...pages.items].filter(([key]) => key.includes('broadcastChannel'))
    expect(JSON.stringify(channels)).not.toContain(task.id)
  })

  it('the next tab leads when the leader has closed', async () => {
    const leader = await openTab()
    await until(() => state(leader).connection === 'push')
    const follower = await openTab()
    await until(() => state(follower).connection === 'follower')
    await leader.client.close()
    await elapse(browser.clock, () => state(follower).connection === 'push')
    expect(state(follower).role).toBe('leader')
    await until(() => server.streams.size === 1)
  })

  it('a full storage is no error that nobody catches', async () => {
    const errors: unknown[] = []
    const note = (error: unknown) => errors.push(error)
    process.on('unhandledRejection', note)
    const set = vi.spyOn(pages.items, 'setItem')
    const written = (is: (key: string, value: string) => boolean) =>
      set.mock.calls.filter(([key, value]) => is(key, value)).length
    const leader = await openTab()
    await until(() => state(leader).connection === 'push')
    // The package has written all that was said so far: what it has begun nobody can stop.
    await until(() => written((key) => key.endsWith(':room')) === written((_, value) => value === '{}'))
    set.mockImplementation(() => {
      throw new DOMException('full', 'QuotaExceededError')
    })
    const before = set.mock.calls.length
    const { id } = await (await leader.client.submit({ type: 'image', params: {} })).task
    await until(() => id in state(leader).tasks)
    expect(set.mock.calls.length).toBeGreaterThan(before)
    // The package would write after a timer of its own.
    await new Promise((resolve) => setTimeout(resolve))
    await new Promise((resolve) => setTimeout(resolve))
    process.off('unhandledRejection', note)
    set.mockRestore()
    expect(errors).toEqual([])
  })

  it('where the code for it cannot be loaded, every tab polls for itself', async () => {
    vi.doMock('broadcast-channel', () => {
      throw new Error('Failed to fetch dynamically imported module')
    })
    vi.resetModules()
    const task = server.put('alice')
    const tabs = [await openTab(), await openTab()]
    for (const tab of tabs) await until(() => state(tab).connection === 'polling')
    server.change(task.id, { progress: 10 })
    for (const tab of tabs) await elapse(browser.clock, () => state(tab).tasks[task.id]?.progress === 10)
    expect(server.count('GET', '/v1/stream')).toBe(0)
    expect(tabs.map((tab) => tab.client.inspect().session?.level)).toEqual(['every-tab', 'every-tab'])
  })
})
