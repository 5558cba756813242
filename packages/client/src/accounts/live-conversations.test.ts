import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createBrowser, elapse, type Tab, until } from '../../test/browser.ts'
import { type ContractServer, startContractServer } from '../../test/contract-server.ts'
import { startEndpointServer } from '../../test/endpoint-server.ts'
import { createConversations, createHoldfastTransport, createPollingEndpointTransport } from '../index.ts'

let server: ContractServer
let browser: ReturnType<typeof createBrowser>
let otherDevice: ReturnType<typeof createBrowser>

beforeEach(async () => {
  server = await startContractServer()
  browser = createBrowser(server.url)
  otherDevice = createBrowser(server.url)
})
afterEach(async () => {
  await browser.close()
  await otherDevice.close()
  await server.stop()
})

const state = (tab: Tab) => tab.client.store.getState()
const badge = (tab: Tab) => state(tab).unreadConversations

async function open(at: typeof browser, options?: Parameters<typeof browser.openTab>[0]) {
  const tab = at.openTab(options)
  await tab.signIn()
  await until(() => state(tab).restore === 'confirmed' && state(tab).connection !== 'offline')
  return tab
}

const withoutStream = { transport: polling() }
function polling(): ReturnType<typeof createHoldfastTransport> {
  return (link) => ({ ...createHoldfastTransport()(link), stream: undefined })
}

describe('conversations are live', () => {
  it('all that is unread is known from the first answer on, in every tab', async () => {
    const unread = server.putConversation('alice', { unread: 2 })
    server.putConversation('alice')
    server.putConversation('bob', { unread: 1 })
    const leader = await open(browser)
    const follower = await open(browser)
    for (const tab of [leader, follower]) {
      expect(Object.keys(state(tab).conversations)).toHaveLength(2)
      expect(state(tab).conversations[unread.id]).toEqual(unread)
      expect(badge(tab)).toBe(1)
    }
    expect(server.count('POST', '/v1/sync')).toBe(1)
  })

  it('what another device does comes by the stream, to the followers too', async () => {
    const tabs = [await open(browser), await open(browser)]
    const begun = server.putConversation('alice', { title: 'owls' })
    for (const tab of tabs) await until(() => state(tab).conversations[begun.id]?.title === 'owls')
    server.changeConversation(begun.id, { unread: 1 })
    for (const tab of tabs) await until(() => badge(tab) === 1)
    expect(server.count('POST', '/v1/sync')).toBe(1)
  })

  it.each(['leader', 'follower'])(
    'read in the %s, the badge is gone in the other tab and on the other device',
    async (who) => {
      const { id } = server.putConversation('alice', { unread: 1 })
      const leader = await open(browser)
      const follower = await open(browser)
      const elsewhere = await open(otherDevice)
      for (const tab of [leader, follower, elsewhere]) expect(badge(tab)).toBe(1)
      const [reader, other] = who === 'leader' ? [leader, follower] : [follower, leader]
      await createConversations(reader.client).markRead(id)
      // At once: without waiting for anything.
      expect(badge(reader)).toBe(0)
      for (const tab of [other, elsewhere]) await until(() => badge(tab) === 0)
      expect(server.count('POST', '/v1/sync')).toBe(2)
    },
  )

  it('the other tabs hear of a read from the tab that read, though no stream is open', async () => {
    const { id } = server.putConversation('alice', { unread: 1 })
    const leader = await open(browser, withoutStream)
    const follower = await open(browser, withoutStream)
    const elsewhere = await open(otherDevice, withoutStream)
    const asked = server.count('POST', '/v1/sync')
    await createConversations(follower.client).markRead(id)
    await until(() => badge(leader) === 0)
    expect(server.count('POST', '/v1/sync')).toBe(asked)
    // The other device asks by itself.
    expect(badge(elsewhere)).toBe(1)
    await elapse(otherDevice.clock, () => badge(elsewhere) === 0)
  })

  it('a conversation that is made here is in the store and in the other tabs', async () => {
    const tabs = [await open(browser, withoutStream), await open(browser, withoutStream)]
    const made = await createConversations((tabs[1] as Tab).client).create({ title: 'owls' })
    expect(state(tabs[1] as Tab).conversations[made.id]).toEqual(made)
    await until(() => state(tabs[0] as Tab).conversations[made.id])
  })

  it('the list fills the store', async () => {
    const tab = await open(browser, withoutStream)
    const { id } = server.putConversation('alice')
    await createConversations(tab.client).list()
    expect(state(tab).conversations).toHaveProperty(id)
  })

  it('a submit brings its conversation: the card is in it before it is sent, and it is made once', async () => {
    const tab = await open(browser)
    server.goDown()
    const id = '0199d2a0-0000-7000-8000-000000000001'
    const { key, task } = await tab.client.submit({
      type: 'image',
      params: { prompt: 'an owl' },
      conversation: { id, title: 'owls' },
    })
    expect(state(tab).unsent[key]).toMatchObject({ conversationId: id, unsent: true })
    server.comeUp()
    const sent = elapse(browser.clock, () => server.created() === 1)
    expect((await task).conversationId).toBe(id)
    await sent
    await elapse(browser.clock, () => state(tab).conversations[id]?.title === 'owls')
  })

  it('nothing of a user is left for the next', async () => {
    const { id } = server.putConversation('alice', { unread: 1 })
    const tab = await open(browser)
    const reading = createConversations(tab.client).markRead(id)
    const [outcome] = await Promise.allSettled([reading, tab.client.logout()])
    expect(outcome).toMatchObject({ reason: { code: 'SIGNED_OUT' } })
    expect(state(tab)).toMatchObject({ conversations: {}, unreadConversations: null })
    await tab.signIn('bob')
    await until(() => state(tab).restore === 'confirmed')
    expect(state(tab)).toMatchObject({ conversations: {}, unreadConversations: 0 })
  })

  it('an event of a server that is newer than the client is let pass', async () => {
    const tab = await open(browser)
    server.say('alice', 'of-tomorrow', { anything: true })
    const task = server.put('alice')
    await until(() => task.id in state(tab).tasks)
    expect(state(tab).connection).toBe('push')
    expect(server.count('GET', '/v1/stream')).toBe(1)
  })

  it('with a backend that keeps none, nothing is known of them', async () => {
    const endpoints = await startEndpointServer(server)
    const transport = createPollingEndpointTransport({
      url: endpoints.url,
      read: () => ({ id: 'a', type: 'image', status: 'pending' }),
    })
    const tab = await open(browser, { transport })
    expect(state(tab)).toMatchObject({ conversations: {}, unreadConversations: null })
    await endpoints.stop()
  })
})
