import { afterEach, describe, expect, it } from 'vitest'
import { createBrowser, elapse, until } from '../../test/browser.ts'
import { type ContractServer, startContractServer } from '../../test/contract-server.ts'
import { createManualClock } from '../../test/manual-clock.ts'
import { type ChannelPort, openTabChannel } from './tab-channel.ts'
import { PROTOCOL, readEnvelope } from './tab-message.ts'

describe('messages between tabs', () => {
  const envelope = (holdfast: unknown, message: unknown) => ({
    holdfast,
    from: 'a',
    visible: true,
    at: 0,
    message,
  })

  it('are taken as they are when they are ours', () => {
    const good = envelope(PROTOCOL, { kind: 'hello' })
    expect(readEnvelope(good)).toBe(good)
  })

  it.each([
    ['nothing', undefined],
    ['a text', 'hello'],
    ['no version', envelope(undefined, { kind: 'hello' })],
    ['no message', envelope(PROTOCOL, null)],
    ['broken states', envelope(PROTOCOL, { kind: 'states', epoch: 1, tasks: 'all' })],
    ['a broken task', envelope(PROTOCOL, { kind: 'task' })],
    ['another release’s states', envelope(PROTOCOL + 1, { kind: 'states', epoch: 1, tasks: [], gone: [] })],
  ])('are dropped when they are %s', (_, data) => {
    expect(readEnvelope(data)).toBeNull()
  })

  it('about leading and signing out are understood across releases', () => {
    for (const message of [{ kind: 'ping', to: null }, { kind: 'logout', forget: false }, { kind: 'bye' }]) {
      expect(readEnvelope(envelope(PROTOCOL + 7, message))).not.toBeNull()
    }
  })
})

describe('the channel', () => {
  it('asks one tab or the leader, and knows after two seconds that nobody is there', async () => {
    const clock = createManualClock()
    const ports: ChannelPort[] = []
    const open = (tabId: string, leads: boolean) =>
      openTabChannel({
        open() {
          const port: ChannelPort = {
            onmessage: null,
            postMessage(data) {
              for (const other of ports) {
                if (other !== port) queueMicrotask(() => other.onmessage?.({ data } as MessageEvent))
              }
            },
            close() {},
          }
          ports.push(port)
          return port
        },
        name: 'n',
        tabId,
        clock,
        isVisible: () => true,
        leads: () => ({ leads, epoch: 4 }),
        onMessage() {},
      })
    const a = open('a', false)
    open('b', true)
    expect(await a?.ping(null)).toMatchObject({ from: 'b', message: { epoch: 4 } })
    expect(await a?.ping('b')).toMatchObject({ from: 'b' })
    const asked = a?.ping('nobody')
    clock.advance(2_000)
    expect(await asked).toBeNull()
    expect(clock.waiting).toBe(0)
  })

  it('keeps what is said before it has been opened, in order, and loses nothing that is heard', async () => {
    const posted: unknown[] = []
    const heard: string[] = []
    const port: ChannelPort = { onmessage: null, postMessage: (data) => posted.push(data), close() {} }
    const { promise, resolve } = Promise.withResolvers<ChannelPort>()
    const channel = openTabChannel({
      open: () => promise,
      name: 'n',
      tabId: 'a',
      clock: createManualClock(),
      isVisible: () => true,
      leads: () => ({ leads: false, epoch: 0 }),
      onMessage: ({ kind }) => heard.push(kind),
    })
    channel?.post({ kind: 'claim' })
    channel?.post({ kind: 'logout', forget: false })
    expect(posted).toEqual([])
    resolve(port)
    await channel?.ready
    port.onmessage?.({
      data: { holdfast: PROTOCOL, from: 'b', visible: true, at: 0, message: { kind: 'offer' } },
    } as MessageEvent)
    expect(posted).toMatchObject([{ message: { kind: 'claim' } }, { message: { kind: 'logout' } }])
    expect(heard).toEqual(['offer'])
    expect(channel?.works()).toBe(true)
  })

  it('is in use before the next line where the browser has it', () => {
    const port: ChannelPort = { onmessage: null, postMessage() {}, close() {} }
    const channel = openTabChannel({
      open: () => port,
      name: 'n',
      tabId: 'a',
      clock: createManualClock(),
      isVisible: () => true,
      leads: () => ({ leads: false, epoch: 0 }),
      onMessage() {},
    })
    expect(port.onmessage).not.toBeNull()
    expect(channel?.ready).toBeNull()
  })
})

describe('another release', () => {
  let server: ContractServer | undefined
  let browser: ReturnType<typeof createBrowser> | undefined
  afterEach(async () => {
    await browser?.close()
    await server?.stop()
  })

  it('a tab of another release keeps the stream, and this one looks for itself', async () => {
    server = await startContractServer()
    browser = createBrowser(server.url)
    const name = `holdfast:${browser.app}:alice`
    let letGo = () => {}
    void navigator.locks.request(
      name,
      () =>
        new Promise<void>((resolve) => {
          letGo = resolve
        }),
    )
    const port = new BroadcastChannel(name)
    port.onmessage = ({ data }) => {
      if (data.message.kind !== 'ping') return
      const message = { kind: 'pong', to: data.from, leads: true, epoch: 9 }
      port.postMessage({ holdfast: PROTOCOL + 1, from: 'newer', visible: true, at: 0, message })
    }
    const tab = browser.openTab()
    await tab.signIn()
    await until(() => tab.client.store.getState().connection === 'polling')
    const task = server.put('alice')
    await elapse(browser.clock, () => task.id in tab.client.store.getState().tasks)
    expect(tab.client.store.getState().role).toBe('follower')
    expect(server.count('GET', '/v1/stream')).toBe(0)
    port.close()
    letGo()
  })
})
