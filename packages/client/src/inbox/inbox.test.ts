import { IDBObjectStore } from 'fake-indexeddb'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createBrowser, elapse, type Tab, until } from '../../test/browser.ts'
import { type ContractServer, startContractServer } from '../../test/contract-server.ts'
import type { ClientEvents, SettleHandler } from '../index.ts'

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

async function openTab(handler?: SettleHandler) {
  const tab = browser.openTab()
  if (handler) tab.client.onSettled(handler)
  await tab.signIn()
  await until(() => state(tab).restore === 'confirmed' && state(tab).connection !== 'offline')
  return tab
}

/** Long enough for everything that would happen, to have happened: a second task goes the whole way. */
async function another(handled: string[]) {
  const { id } = server.put('alice')
  server.change(id, { status: 'completed' })
  await until(() => handled.includes(id))
  return id
}

describe('the inbox', () => {
  it('hands each ended task over once, in one tab of many', async () => {
    const handled: string[] = []
    const tabs = [
      await openTab((task) => handled.push(task.id)),
      await openTab((task) => handled.push(task.id)),
      await openTab((task) => handled.push(task.id)),
    ]
    const ids = Array.from({ length: 5 }, () => server.put('alice').id)
    for (const tab of tabs) await until(() => ids.every((id) => id in state(tab).tasks))
    for (const id of ids) server.change(id, { status: 'completed' })
    await until(() => ids.every((id) => handled.includes(id)))
    // A later state of the same task is no second end.
    for (const id of ids) server.change(id, { messageId: 'm' })
    const last = await another(handled)
    expect(handled.toSorted()).toEqual([...ids, last].toSorted())
  })

  it('is for what ended since this browser first synced: also while it was away, not what is older', async () => {
    const old = server.put('alice')
    server.change(old.id, { status: 'completed', finishedAt: new Date(Date.now() - 1_000).toISOString() })
    const first = await openTab()
    const running = server.put('alice')
    await until(() => running.id in state(first).tasks)
    await first.client.close()
    const unseen = server.put('alice')
    for (const { id } of [running, unseen]) server.change(id, { status: 'completed' })

    const handled: string[] = []
    const next = await openTab((task) => handled.push(task.id))
    await until(() => handled.length === 2)
    const last = await another(handled)
    expect(handled.toSorted()).toEqual([running.id, unseen.id, last].toSorted())
    await next.client.close()
    const again: string[] = []
    await openTab((task) => again.push(task.id))
    const newest = await another(again)
    expect(again).toEqual([newest])
  })

  it('a handler that throws is told to the app, kept, and tried again after a reload', async () => {
    const tab = await openTab(() => {
      throw new Error('the database of the app is full')
    })
    const unsaved: ClientEvents['unsaved'][] = []
    tab.client.on('unsaved', (event) => unsaved.push(event))
    const { id } = server.put('alice')
    server.change(id, { status: 'completed' })
    await until(() => unsaved.length === 1)
    expect(unsaved[0]).toMatchObject({ task: { id }, by: 'app', attempts: 1 })
    await tab.client.close()
    // Even when the server has forgotten it meanwhile.
    server.remove(id)
    const handled: string[] = []
    const next = await openTab((task) => handled.push(task.id))
    await until(() => handled.length === 1)
    expect(handled).toEqual([id])
    await next.client.close()
    const again: string[] = []
    await openTab((task) => again.push(task.id))
    expect(again.concat(await another(again))).not.toContain(id)
  })

  it('retrySave has the server save and the handlers run again', async () => {
    let works = false
    const handled: (string | null)[] = []
    const tab = await openTab((task) => {
      if (!works) throw new Error('not now')
      handled.push(task.messageId)
    })
    const unsaved: unknown[] = []
    tab.client.on('unsaved', (event) => unsaved.push(event.by))
    const { id } = server.put('alice')
    server.change(id, { status: 'completed' })
    await until(() => unsaved.length === 1)
    works = true
    const saved = await tab.client.retrySave(id)
    expect(saved.messageId).toBe('message-saved')
    expect(handled).toEqual(['message-saved'])
  })

  it('says that the server could not save, once', async () => {
    const tab = await openTab()
    const unsaved: ClientEvents['unsaved'][] = []
    tab.client.on('unsaved', (event) => unsaved.push(event))
    const { id } = server.put('alice')
    server.change(id, { status: 'completed', ...{ saveState: 'failed' } })
    await until(() => unsaved.length > 0)
    const { version } = server.change(id, { metadata: { seen: true } })
    await until(() => state(tab).tasks[id]?.version === version)
    expect(unsaved).toMatchObject([{ task: { id }, by: 'server', error: null }])
  })

  it('takes three transactions for a hundred tasks that ended while the browser was closed', async () => {
    const first = await openTab()
    await first.client.close()
    for (let made = 0; made < 100; made++) server.change(server.put('alice').id, { status: 'completed' })
    const reads = vi.spyOn(IDBObjectStore.prototype, 'get')
    const handled: string[] = []
    const tab = await openTab((task) => handled.push(task.id))
    await until(() => handled.length === 100)
    await tab.client.close()
    const keys = reads.mock.calls.map(([key]) => String(key)).filter((key) => key.endsWith(':inbox'))
    reads.mockRestore()
    // Each transaction reads the record once.
    expect(keys.length).toBeGreaterThan(0)
    expect(keys.length).toBeLessThanOrEqual(3)
    const again: string[] = []
    await openTab((task) => again.push(task.id))
    const last = await another(again)
    expect(again).toEqual([last])
  })

  it('a tab that dies while it works leaves the task to another', async () => {
    const dying = await openTab(() => new Promise(() => {}))
    const handled: string[] = []
    const { id } = server.put('alice')
    server.change(id, { status: 'completed' })
    await until(() => state(dying).tasks[id]?.status === 'completed')
    await dying.client.setUser(null)
    const tab = browser.openTab()
    tab.client.onSettled((task) => handled.push(task.id))
    await tab.signIn()
    await elapse(browser.clock, () => handled.length > 0)
    expect(handled).toEqual([id])
  })

  it('a follower hears that another tab heard it', async () => {
    const leader = await openTab()
    const follower = await openTab()
    const heard: string[] = []
    leader.client.on('settled', ({ via }) => heard.push(`leader ${via}`))
    follower.client.on('settled', ({ via }) => heard.push(`follower ${via}`))
    const { id } = server.put('alice')
    await until(() => id in state(follower).tasks)
    server.change(id, { status: 'failed' })
    await until(() => heard.length === 2)
    expect(heard).toEqual(['leader server', 'follower other-tab'])
  })
})
