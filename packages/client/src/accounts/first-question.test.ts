import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createBrowser, elapse, type Tab, type TabOptions, until } from '../../test/browser.ts'
import { type ContractServer, startContractServer } from '../../test/contract-server.ts'
import { createHoldfastTransport } from '../index.ts'

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
const asked = () => server.requests.map((request) => request.path)
const LEASE = () => `holdfast:${browser.app}:alice:lease`

function createGate() {
  let open = () => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open }
}

/** A tab that cannot find out whether it leads before the gate is open. */
function openUndecided({ environment, ...options }: TabOptions = {}) {
  const { opened, open } = createGate()
  const request = async (...call: Parameters<LockManager['request']>) => {
    await opened
    return navigator.locks.request(...call)
  }
  const locks = { request } as Pick<LockManager, 'request'>
  return { ...browser.openTab({ ...options, environment: { ...environment, locks } }), decide: open }
}

/** The second visit of a browser, up to where its cards wait for their frame. */
async function comeBack() {
  const before = browser.openTab()
  await before.signIn()
  await until(() => state(before).connection === 'push')
  await before.client.close()
  const asks = server.requests.length
  const gate = createGate()
  const tab = openUndecided({ environment: { afterFrame: (run) => void gate.opened.then(run) } })
  const signedIn = tab.signIn()
  await until(() => state(tab).restore === 'from-cache')
  return { tab, asks, signedIn, paint: gate.open }
}

/** Lets everything happen that needs no time. */
async function settle() {
  for (let turn = 0; turn < 40; turn++) await new Promise((resolve) => setImmediate(resolve))
}

describe('the first question', () => {
  it('F2: a lone tab asks before it knows that it leads, and asks once', async () => {
    const task = server.put('alice')
    const tab = openUndecided()
    await tab.signIn()
    await until(() => state(tab).restore === 'confirmed')
    expect(state(tab)).toMatchObject({ role: 'follower', tasks: { [task.id]: { stale: false } } })
    tab.decide()
    await until(() => state(tab).connection === 'push')
    expect(asked()).toEqual(['/v1/sync', '/v1/stream'])
  })

  it('F2: cards are painted before anything is asked', async () => {
    const task = server.put('alice')
    const { tab, asks, signedIn, paint } = await comeBack()
    await settle()
    expect(state(tab).tasks).toHaveProperty(task.id)
    expect(server.requests).toHaveLength(asks)
    paint()
    await signedIn
    await until(() => state(tab).restore === 'confirmed')
  })

  it('F6: who leaves before the cards are painted asks nothing', async () => {
    server.put('alice')
    const { tab, asks, signedIn, paint } = await comeBack()
    await tab.client.logout()
    paint()
    await signedIn
    tab.decide()
    await settle()
    expect(server.requests).toHaveLength(asks)
    expect(state(tab)).toMatchObject({ restore: 'signed-out', tasks: {}, unsent: {} })
  })

  it('C3: a leader waits for the answer that is on its way', async () => {
    const { opened, open } = createGate()
    server.next('POST /v1/sync', { kind: 'hold', until: opened })
    const tab = browser.openTab()
    await tab.signIn()
    await until(() => state(tab).role === 'leader' && server.count('POST', '/v1/sync') === 1)
    await settle()
    open()
    await until(() => state(tab).connection === 'push')
    expect(asked()).toEqual(['/v1/sync', '/v1/stream'])
  })

  it('C4: where there is no stream the next poll is due after the interval', async () => {
    const tab = openUndecided({
      transport: (link) => ({ ...createHoldfastTransport()(link), stream: undefined }),
    })
    await tab.signIn()
    await until(() => state(tab).restore === 'confirmed')
    tab.decide()
    await until(() => state(tab).connection === 'polling')
    expect(asked()).toEqual(['/v1/sync'])
    browser.clock.advance(33_000)
    await until(() => server.count('POST', '/v1/sync') === 2)
  })

  it('C3: a tab beside a living leader does not ask, nor does one beside a leader whose timers are slowed', async () => {
    const leader = browser.openTab()
    await leader.signIn()
    await until(() => state(leader).connection === 'push')
    const beside = openUndecided()
    await beside.signIn()
    await settle()
    // A hidden tab's timers run once a minute: its lease runs out half of the time.
    const lease = JSON.parse(browser.localStorage.getItem(LEASE()) ?? '')
    const late = { ...lease, expiresAt: browser.clock.now() - 30_000 }
    browser.localStorage.setItem(LEASE(), JSON.stringify(late))
    const later = openUndecided()
    await later.signIn()
    await settle()
    for (const tab of [beside, later]) {
      tab.decide()
      await until(() => state(tab).restore === 'confirmed')
    }
    expect(asked()).toEqual(['/v1/sync', '/v1/stream'])
  })

  it('F2: one that was killed long ago holds nobody up', async () => {
    const lease = { owner: 'gone', epoch: 3, expiresAt: browser.clock.now() - 60_000 }
    browser.localStorage.setItem(LEASE(), JSON.stringify(lease))
    const tab = openUndecided()
    await tab.signIn()
    await until(() => state(tab).restore === 'confirmed')
  })

  it('C3: a tab that nobody looks at leaves it to one that leads', async () => {
    const tab = openUndecided({ environment: { isVisible: () => false } })
    await tab.signIn()
    await settle()
    expect(asked()).toEqual([])
    tab.decide()
    await until(() => state(tab).connection === 'push')
  })

  it('F5: who turns out to follow has its answer all the same', async () => {
    const task = server.put('alice')
    const tab = openUndecided()
    await tab.signIn()
    await until(() => state(tab).restore === 'confirmed')
    const leader = browser.openTab()
    await leader.signIn()
    await until(() => state(leader).connection === 'push')
    tab.decide()
    await until(() => state(tab).connection === 'follower')
    expect(state(tab).tasks).toHaveProperty(task.id)
    server.change(task.id, { progress: 50 })
    await until(() => state(tab).tasks[task.id]?.progress === 50)
  })

  it('F5: a leader that was answered before it led tells the others all it knows', async () => {
    const task = server.put('alice')
    const other = openUndecided()
    await other.signIn()
    await until(() => state(other).restore === 'confirmed')
    const changed = server.change(task.id, { progress: 40 })
    const next = openUndecided()
    await next.signIn()
    await until(() => state(next).tasks[task.id]?.version === changed.version)
    // The stream goes on from that answer, so that it brings nothing to pass on.
    next.decide()
    await until(() => state(other).tasks[task.id]?.version === changed.version)
  })

  it('F2: asks again when the first question failed', async () => {
    server.next('POST /v1/sync', { kind: 'fail', code: 'UNAVAILABLE' })
    const tab = openUndecided()
    await tab.signIn()
    await until(() => server.count('POST', '/v1/sync') === 1)
    await settle()
    tab.decide()
    await elapse(browser.clock, () => state(tab).connection === 'push', 100)
    expect(asked()).toEqual(['/v1/sync', '/v1/sync', '/v1/stream'])
  })

  it('F2: a server that wants to be left alone for a while is left alone', async () => {
    server.next('POST /v1/sync', { kind: 'fail', code: 'RATE_LIMITED', retryAfter: 20 })
    const tab = openUndecided()
    await tab.signIn()
    await until(() => server.count('POST', '/v1/sync') === 1)
    await settle()
    tab.decide()
    await until(() => state(tab).role === 'leader')
    await settle()
    browser.clock.advance(19_000)
    await settle()
    expect(asked()).toEqual(['/v1/sync'])
    await elapse(browser.clock, () => state(tab).connection === 'push', 1_000)
  })

  it('F4: a token that is refused is renewed', async () => {
    server.refuseToken('alice')
    const tab = openUndecided()
    await tab.signIn()
    await until(() => state(tab).restore === 'confirmed')
    expect(tab.tokens).toEqual([{ fresh: false }, { fresh: true }])
  })

  it('F6: log-out drops the early answer, and so does another user', async () => {
    const theirs = server.put('alice')
    const own = server.put('bob')
    for (const leave of ['logout', 'switch'] as const) {
      const { opened, open } = createGate()
      const before = server.count('POST', '/v1/sync')
      server.next('POST /v1/sync', { kind: 'hold', until: opened })
      const tab = openUndecided()
      await tab.signIn()
      await until(() => server.count('POST', '/v1/sync') === before + 1)
      if (leave === 'logout') await tab.client.logout()
      else await tab.signIn('bob')
      open()
      tab.decide()
      if (leave === 'switch') await until(() => state(tab).restore === 'confirmed')
      await settle()
      expect(Object.keys(state(tab).tasks)).toEqual(leave === 'switch' ? [own.id] : [])
      expect(state(tab).tasks).not.toHaveProperty(theirs.id)
      await tab.client.close()
    }
  })

  it('F5: a page put away before it led asks anew when it is back', async () => {
    const tab = openUndecided()
    await tab.signIn()
    await until(() => state(tab).restore === 'confirmed')
    tab.page.dispatchEvent(Object.assign(new Event('pagehide'), { persisted: true }))
    const task = server.put('alice')
    tab.page.dispatchEvent(Object.assign(new Event('pageshow'), { persisted: true }))
    tab.decide()
    await until(() => state(tab).connection === 'push')
    expect(state(tab).tasks).toHaveProperty(task.id)
    expect(asked()).toEqual(['/v1/sync', '/v1/sync', '/v1/stream'])
  })
})
