import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createBrowser, elapse, type Tab, until } from '../../../test/browser.ts'
import { type ContractServer, startContractServer } from '../../../test/contract-server.ts'
import { MemoryStorage } from '../../../test/memory-storage.ts'
import { settle } from '../../../test/simulated-browser.ts'
import type { Environment } from '../../index.ts'
import { createSimulation, type Simulation } from './create-simulation.ts'

let server: ContractServer
let browser: ReturnType<typeof createBrowser>
let tabs: SimulatingTab[]

interface SimulatingTab extends Tab {
  simulation: Simulation
}

beforeEach(async () => {
  tabs = []
  server = await startContractServer()
  browser = createBrowser(server.url)
})
afterEach(async () => {
  // The dead close nothing.
  const living = tabs.filter(({ simulation }) => !simulation.getState().crashed)
  await Promise.all(living.map(({ client }) => client.close()))
  await server.stop()
})

const state = (tab: Tab) => tab.client.store.getState()
const session = (tab: Tab) => tab.client.inspect().session

async function openTab(base: Partial<Environment> = {}): Promise<SimulatingTab> {
  const { clock, indexedDB, localStorage } = browser
  const page = new EventTarget()
  const simulation = createSimulation({
    clock,
    indexedDB,
    localStorage,
    sessionStorage: new MemoryStorage(),
    page,
    ...base,
  })
  const tab = browser.openTab({ environment: simulation.environment })
  const simulating = { ...tab, page, simulation }
  tabs.push(simulating)
  await tab.signIn()
  await until(() => state(tab).connection !== 'offline' && state(tab).restore === 'confirmed')
  return simulating
}

/** Moves the clock on, giving channels and locks a turn between steps. */
async function pass(ms: number) {
  for (let left = ms; left > 0; left -= 100) {
    browser.clock.advance(Math.min(left, 100))
    await settle()
  }
}

describe('crash', () => {
  it('F5: the lock of a leader is freed without a word, and the next tab leads', async () => {
    const first = await openTab()
    const second = await openTab()
    const before = session(second)?.messages.length ?? 0
    first.simulation.crash()
    await until(() => state(second).connection === 'push')
    expect(session(second)).toMatchObject({ reason: 'freed', epoch: 2 })
    const said = session(second)?.messages.slice(before) ?? []
    expect(said.filter(({ from }) => from === state(first).tabId)).toEqual([])
    await until(() => server.streams.size === 1)
  })

  it('where a record decides, the lease stays behind as that of a dead tab does, until it is challenged', async () => {
    const first = await openTab({ locks: null })
    const second = await openTab({ locks: null })
    expect(session(first)).toMatchObject({ level: 'indexeddb', reason: 'free' })
    first.simulation.crash()
    // Leaving the page is what would tell the others, were it alive.
    first.page.dispatchEvent(new Event('pagehide'))
    expect(session(second)?.lease?.owner).toBe(state(first).tabId)
    await elapse(browser.clock, () => state(second).connection === 'push')
    expect(session(second)).toMatchObject({ reason: 'no-answer', epoch: 2 })
  })

  it('a dead tab asks, renews, submits and applies nothing', async () => {
    const task = server.put('alice')
    const tab = await openTab()
    await until(() => task.id in state(tab).tasks)
    const lease = browser.localStorage.getItem(`holdfast:${browser.app}:alice:lease`)
    const asked = server.requests.length
    const settled = vi.fn()
    const refresh = tab.client.refresh()
    tab.simulation.crash()
    void refresh.then(settled, settled)
    void tab.client.submit({ type: 'image', params: {} }).then(settled, settled)
    await until(() => server.streams.size === 0)
    server.change(task.id, { status: 'running', progress: 70 })
    browser.clock.advance(300_000)
    await settle()
    expect(state(tab).tasks[task.id]?.progress).toBeNull()
    expect(settled).not.toHaveBeenCalled()
    expect(server.requests.length - asked).toBeLessThanOrEqual(1)
    expect(browser.localStorage.getItem(`holdfast:${browser.app}:alice:lease`)).toBe(lease)
  })

  it('a submit left behind by a dead tab is sent by the next leader, once', async () => {
    const first = await openTab()
    const second = await openTab()
    first.simulation.setOffline(true)
    await first.client.submit({ type: 'image', params: {} })
    first.simulation.crash()
    await until(() => state(second).role === 'leader')
    await elapse(browser.clock, () => server.created() === 1)
    await until(() => Object.keys(state(second).unsent).length === 0)
    expect(server.created()).toBe(1)
  })

  it('is for good: no other switch works any more', async () => {
    const { simulation } = await openTab()
    const told = vi.fn()
    simulation.subscribe(told)
    simulation.crash()
    simulation.setHidden(true)
    simulation.setOffline(true)
    simulation.crash()
    expect(simulation.getState()).toEqual({ hidden: false, offline: false, crashed: true })
    expect(told).toHaveBeenCalledTimes(1)
  })
})

describe('offline', () => {
  it('cuts the stream at once, and is back at once', async () => {
    const task = server.put('alice')
    const tab = await openTab()
    tab.simulation.setOffline(true)
    await until(() => server.streams.size === 0)
    await elapse(browser.clock, () => state(tab).connection === 'offline')
    server.change(task.id, { progress: 40 })
    await expect(tab.client.refresh()).rejects.toMatchObject({ code: 'NETWORK' })
    // The real network has nothing to say about the simulated one.
    tab.page.dispatchEvent(new Event('online'))
    expect(state(tab).connection).toBe('offline')
    tab.simulation.setOffline(false)
    await until(() => state(tab).connection === 'push')
    expect(state(tab).tasks[task.id]?.progress).toBe(40)
  })

  it('stops polling, and polls again', async () => {
    const task = server.put('alice', { status: 'running' })
    const tab = await openTab({ locks: null, indexedDB: null })
    expect(state(tab).connection).toBe('polling')
    tab.simulation.setOffline(true)
    await elapse(browser.clock, () => state(tab).connection === 'offline')
    const asked = server.requests.length
    await pass(60_000)
    expect(server.requests.length).toBe(asked)
    server.change(task.id, { progress: 90 })
    tab.simulation.setOffline(false)
    await until(() => state(tab).tasks[task.id]?.progress === 90)
    expect(state(tab).connection).toBe('polling')
  })

  it('a submit waits, and is sent once when the network is back', async () => {
    const tab = await openTab()
    tab.simulation.setOffline(true)
    const { task } = await tab.client.submit({ type: 'image', params: {} })
    await elapse(browser.clock, () => state(tab).connection === 'offline')
    expect(Object.keys(state(tab).unsent)).toHaveLength(1)
    tab.simulation.setOffline(false)
    const { id } = await task
    expect(state(tab).tasks).toHaveProperty(id)
    expect(server.created()).toBe(1)
  })

  it('an answer under way is lost, as over a cable that is pulled', async () => {
    const tab = await openTab()
    let answer = () => {}
    const until = new Promise<void>((resolve) => {
      answer = resolve
    })
    server.next('POST /v1/sync', { kind: 'hold', until })
    const refresh = tab.client.refresh()
    tab.simulation.setOffline(true)
    await expect(refresh).rejects.toMatchObject({ code: 'NETWORK' })
    answer()
  })
})

describe('hidden', () => {
  it('F5: after five seconds a visible tab is handed the lead; shown again, it does not take it back', async () => {
    const first = await openTab()
    const second = await openTab()
    first.simulation.setHidden(true)
    expect(first.simulation.environment.isVisible()).toBe(false)
    await pass(4_900)
    expect(state(first).role).toBe('leader')
    await pass(200)
    await until(() => state(second).connection === 'push')
    expect(session(second)).toMatchObject({ reason: 'handed-to-us', epoch: 2 })
    await until(() => session(first)?.reason === 'other-leads')
    first.simulation.setHidden(false)
    await pass(10_000)
    expect([state(first).role, state(second).role]).toEqual(['follower', 'leader'])
  })

  it('keeps the lead when the other is hidden as well', async () => {
    const first = await openTab()
    const second = await openTab()
    second.simulation.setHidden(true)
    first.simulation.setHidden(true)
    await pass(30_000)
    expect([state(first).role, state(second).role]).toEqual(['leader', 'follower'])
  })

  it('a tab that is really hidden stays so, whatever the switch says', async () => {
    const simulation = createSimulation({ isVisible: () => false })
    expect(simulation.environment.isVisible()).toBe(false)
    simulation.setHidden(true)
    simulation.setHidden(false)
    expect(simulation.environment.isVisible()).toBe(false)
  })
})
