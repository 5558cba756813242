import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createBrowser, elapse, type Tab, until } from '../../test/browser.ts'
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
const streams = () => server.count('GET', '/v1/stream')
const syncs = () => server.count('POST', '/v1/sync')

async function openTab() {
  const tab = browser.openTab()
  await tab.signIn()
  await until(() => state(tab).connection === 'push')
  return tab
}

describe('push', () => {
  it('resumes a broken stream from the last event, without a sync', async () => {
    const tab = await openTab()
    browser.clock.advance(20_000)
    server.breakStreams()
    await until(() => server.streams.size === 0)
    const task = server.put('alice')
    await elapse(browser.clock, () => task.id in state(tab).tasks)
    expect(syncs()).toBe(1)
    expect(streams()).toBe(2)
  })

  it.each([5_000, 20_000])(
    'is back within a second when its replica dies, %i ms after it opened',
    async (age) => {
      const tab = browser.openTab({ environment: { random: () => 0.99 } })
      await tab.signIn()
      await until(() => state(tab).connection === 'push')
      browser.clock.advance(age)
      server.breakStreams()
      await until(() => server.streams.size === 0)
      const died = browser.clock.now()
      await elapse(browser.clock, () => streams() === 2, 100)
      expect(browser.clock.now() - died).toBeLessThanOrEqual(1_100)
    },
  )

  it('a transport of the app’s own that fails without a word is tried again', async () => {
    const failed: string[] = []
    const fail = (what: string) => {
      failed.push(what)
      return Promise.reject()
    }
    const tab = browser.openTab({
      transport: (link) => {
        const own = createHoldfastTransport()(link)
        return {
          ...own,
          sync: (question) => (failed.includes('sync') ? own.sync(question) : fail('sync')),
          stream: () => fail('stream'),
        }
      },
    })
    await tab.signIn()
    await elapse(browser.clock, () => state(tab).connection === 'polling')
    expect(failed).toEqual(['sync', 'stream', 'stream', 'stream'])
  })

  it('reconnects when nothing is heard for two and a half beats, and not while the heart beats', async () => {
    const tab = await openTab()
    // A task event after each beat shows that the beat has been read.
    for (let beat = 0; beat < 4; beat++) {
      browser.clock.advance(30_000)
      server.heartbeat()
      const { id } = server.put('alice')
      await until(() => id in state(tab).tasks)
    }
    expect(streams()).toBe(1)
    browser.clock.advance(37_000)
    expect(streams()).toBe(1)
    await elapse(browser.clock, () => streams() === 2)
    await until(() => state(tab).connection === 'push')
    await until(() => server.streams.size === 1)
  })

  it('notices at once, when the machine wakes, that the stream has been silent', async () => {
    let asleep = 0
    const { after, now } = browser.clock
    const tab = browser.openTab({ environment: { clock: { after, now: () => now() + asleep } } })
    await tab.signIn()
    await until(() => state(tab).connection === 'push')
    asleep = 3_600_000
    tab.page.dispatchEvent(new Event('visibilitychange'))
    await elapse(browser.clock, () => streams() === 2, 100)
  })

  it('asks for a fresh token when the server ends the stream because the old one expired', async () => {
    const tab = await openTab()
    browser.clock.advance(5_000)
    tab.tokens.length = 0
    server.endStreams('token-expired')
    await until(() => streams() === 2)
    expect(tab.tokens).toEqual([{ fresh: true }])
    await until(() => state(tab).connection === 'push' && server.streams.size === 1)
  })

  it('comes back after a server restart without falling back to polling', async () => {
    const tab = await openTab()
    for (let restart = 1; restart <= 4; restart++) {
      server.endStreams('shutdown')
      await elapse(browser.clock, () => streams() === restart + 1, 100)
      await until(() => server.streams.size === 1)
    }
    expect(state(tab).connection).toBe('push')
    expect(syncs()).toBe(1)
  })
})

describe('polling', () => {
  it('after three quick failures it polls, and later tries push again', async () => {
    const task = server.put('alice')
    const fail = { kind: 'fail', code: 'UNAVAILABLE' } as const
    server.next('GET /v1/stream', fail, fail, fail)
    const tab = browser.openTab()
    await tab.signIn()
    await elapse(browser.clock, () => state(tab).connection === 'polling')
    expect(streams()).toBe(3)

    server.change(task.id, { progress: 50 })
    await elapse(browser.clock, () => state(tab).tasks[task.id]?.progress === 50)
    await elapse(browser.clock, () => state(tab).connection === 'push', 2_000)
    expect(streams()).toBe(4)
  })

  it('polls when streams open but nothing comes through', async () => {
    server.muteStreams(true)
    const tab = browser.openTab()
    await tab.signIn()
    await until(() => server.streams.size === 1)
    await elapse(browser.clock, () => state(tab).connection === 'polling')
    expect(streams()).toBe(1)
    server.muteStreams(false)
    await elapse(browser.clock, () => state(tab).connection === 'push', 2_000)
  })

  it('polls when only the beginning of streams comes through, three times', async () => {
    const tab = await openTab()
    // No heart beats here by itself.
    await elapse(browser.clock, () => state(tab).connection === 'polling', 5_000)
    expect(streams()).toBe(3)
    const { id } = server.put('alice')
    await elapse(browser.clock, () => id in state(tab).tasks)
    await elapse(browser.clock, () => state(tab).connection === 'push', 2_000)
  })

  it('polls as soon when not even the headers of a stream come through', async () => {
    const task = server.put('alice')
    let letThrough = () => {}
    const held = new Promise<void>((resolve) => {
      letThrough = resolve
    })
    server.next('GET /v1/stream', { kind: 'hold', until: held })
    const tab = browser.openTab()
    await tab.signIn()
    await until(() => streams() === 1)
    const asked = browser.clock.now()
    server.change(task.id, { progress: 50 })
    await elapse(browser.clock, () => state(tab).connection === 'polling')
    expect(browser.clock.now() - asked).toBeLessThanOrEqual(11_000)
    await until(() => state(tab).tasks[task.id]?.progress === 50)
    expect(streams()).toBe(1)
    letThrough()
    await elapse(browser.clock, () => state(tab).connection === 'push', 2_000)
  })

  it('every 2 s with an image under way, 5 s with a video, 30 s with nothing', async () => {
    const tab = browser.openTab({ environment: { openChannel: null, random: () => 0.5 } })
    await tab.signIn()

    const gap = async (step: number) => {
      const before = syncs()
      await elapse(browser.clock, () => syncs() > before, step)
      const from = browser.clock.now()
      await elapse(browser.clock, () => syncs() > before + 1, step)
      return browser.clock.now() - from
    }
    const about = (ms: number) => (got: number) => got >= ms - 1_000 && got <= ms + 2_000
    await until(() => state(tab).connection === 'polling')
    expect(await gap(1_000)).toSatisfy(about(30_000))

    const video = server.put('alice', { type: 'video', status: 'running' })
    await elapse(browser.clock, () => video.id in state(tab).tasks, 1_000)
    expect(await gap(500)).toSatisfy(about(5_000))

    const before = syncs()
    const { id } = await (await tab.client.submit({ type: 'image', params: {} })).task
    expect(id in state(tab).tasks).toBe(true)
    await elapse(browser.clock, () => syncs() > before, 250)
    expect(await gap(250)).toSatisfy(about(2_000))
  })

  it('a submit does not wait out the slow interval', async () => {
    const tab = browser.openTab({ environment: { openChannel: null } })
    await tab.signIn()
    await until(() => state(tab).connection === 'polling')
    const before = syncs()
    await (await tab.client.submit({ type: 'image', params: {} })).task
    await until(() => syncs() > before)
  })

  it('waits as long as the server asks', async () => {
    const tab = browser.openTab({ environment: { openChannel: null, random: () => 0 } })
    server.next('POST /v1/sync', { kind: 'fail', code: 'RATE_LIMITED', retryAfter: 7 })
    await tab.signIn()
    await until(() => server.requests[0]?.status === 429)
    const asked = browser.clock.now()
    await elapse(browser.clock, () => state(tab).connection === 'polling', 1_000)
    expect(browser.clock.now() - asked).toBeGreaterThanOrEqual(7_000)
    expect(syncs()).toBe(2)
  })
})
