import '../../test/dom.ts'
import { IDBFactory } from 'fake-indexeddb'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { until } from '../../test/browser.ts'
import { type ContractServer, startContractServer } from '../../test/contract-server.ts'
import { createClient, type HoldfastClient } from '../index.ts'
import { createSimulation, type DevtoolsOptions, mountDevtools, type Simulation } from './index.ts'

let server: ContractServer
let client: HoldfastClient
let simulation: Simulation
let unmount: () => void
let apps = 0

beforeEach(async () => {
  // The panel looks at the real browser, so here there must be one.
  vi.stubGlobal('localStorage', window.localStorage)
  vi.stubGlobal('sessionStorage', window.sessionStorage)
  vi.stubGlobal('indexedDB', new IDBFactory())
  window.localStorage.clear()
  window.sessionStorage.clear()
  server = await startContractServer()
  // Events of happy-dom's window are not Node's: what the client listens to here comes from the simulation.
  simulation = createSimulation({ page: null })
  client = createClient({
    url: server.url,
    app: `devtools-${++apps}`,
    environment: simulation.environment,
  })
  unmount = () => {}
})
afterEach(async () => {
  unmount()
  if (!simulation.getState().crashed) await client.close()
  await server.stop()
  vi.unstubAllGlobals()
})

const signIn = async () => {
  await client.setUser({ id: 'alice', getToken: () => 'alice' })
  await until(() => client.store.getState().connection === 'push')
}
const mount = (options: DevtoolsOptions = {}) => {
  unmount = mountDevtools(client, { simulation, ...options })
}
const root = () => {
  const found = document.querySelector('holdfast-devtools')?.shadowRoot
  if (!found) throw new Error('not mounted')
  return found
}
const find = (selector: string) => {
  const found = root().querySelector<HTMLElement>(selector)
  if (!found) throw new Error(`no ${selector}`)
  return found
}
const text = () => root().textContent ?? ''
const open = () => find('.launcher').click()
const choose = (view: string) => find(`#tab-${view}`).click()
const buttonNamed = (name: string) => {
  const all = [...root().querySelectorAll('button')]
  const found = all.find((button) =>
    (button.getAttribute('aria-label') ?? button.textContent)?.startsWith(name),
  )
  if (!found) throw new Error(`no button ${name} among ${all.map((button) => button.textContent)}`)
  return found
}
const press = (element: HTMLElement, key: string) =>
  element.dispatchEvent(new window.KeyboardEvent('keydown', { key, bubbles: true, composed: true }))

describe('the panel', () => {
  it('is a button until it is opened, remembers how it was left, and leaves nothing behind', async () => {
    mount()
    expect(root().querySelector('.panel')).toBeNull()
    open()
    choose('storage')
    unmount()
    expect(document.querySelector('holdfast-devtools')).toBeNull()
    mount()
    expect(find('[aria-selected=true]').id).toBe('tab-storage')
    press(find('.panel'), 'Escape')
    expect(root().querySelector('.panel')).toBeNull()
    expect(root().activeElement).toBe(find('.launcher'))
    unmount()
    mount({ initiallyOpen: true })
    expect(root().querySelector('.panel')).toBeNull()
  })

  it('opens at once where it is told to, and needs no storage to do so', () => {
    vi.stubGlobal('sessionStorage', {
      getItem() {
        throw new DOMException('blocked', 'SecurityError')
      },
    })
    mount({ initiallyOpen: true })
    expect(find('.panel').getAttribute('aria-label')).toBe('Holdfast devtools')
    choose('tasks')
    expect(text()).toContain('No tasks')
  })

  it('is worked by keys: arrows between the views, typed text stays inside', () => {
    const heard = vi.fn()
    document.addEventListener('keydown', heard)
    mount()
    open()
    expect(root().activeElement?.id).toBe('tab-tabs')
    press(find('#tab-tabs'), 'ArrowRight')
    expect(root().activeElement?.id).toBe('tab-tasks')
    press(find('#tab-tasks'), 'End')
    expect(root().activeElement?.id).toBe('tab-messages')
    press(find('#tab-messages'), 'ArrowRight')
    expect(root().activeElement?.id).toBe('tab-tabs')
    expect(find('#tab-tabs').tabIndex).toBe(0)
    expect(find('#tab-tasks').tabIndex).toBe(-1)
    expect(heard).not.toHaveBeenCalled()
    document.removeEventListener('keydown', heard)
  })

  it('needs no style attribute and no style element, which a strict policy would stop', async () => {
    await signIn()
    server.put('alice', { status: 'running', progress: 30 })
    mount({ initiallyOpen: true })
    for (const view of ['tabs', 'tasks', 'outbox', 'storage', 'messages']) {
      choose(view)
      expect(root().querySelectorAll('[style], style')).toHaveLength(0)
    }
  })

  it('signed out it says so, and is useful again after signing in', async () => {
    mount({ initiallyOpen: true })
    expect(text()).toContain('Signed out')
    await signIn()
    await until(() => text().includes('Leads'))
    expect(text()).toContain('Nobody led when it asked, so it took the lead.')
    expect(text()).toContain('Web Lock')
    await client.setUser(null)
    await until(() => find('.role-name').textContent?.startsWith('Signed out'))
  })
})

describe('what it shows', () => {
  beforeEach(signIn)

  it('another tab with devtools, who leads, and that it went away', async () => {
    mount({ initiallyOpen: true })
    const other = createClient({ url: server.url, app: `devtools-${apps}`, environment: { page: null } })
    await other.setUser({ id: 'alice', getToken: () => 'alice' })
    await until(() => other.store.getState().connection === 'follower')
    const row = () =>
      [...root().querySelectorAll('tr')].find((tr) =>
        tr.textContent?.includes(other.store.getState().tabId.slice(0, 6)),
      )
    await until(() => row()?.textContent?.includes('Heard of'))
    const second = mountDevtools(other)
    await until(() => row()?.textContent?.includes('Follows'))
    expect(row()?.textContent).toContain(`Tab ${client.store.getState().tabId.slice(0, 6)} leads`)
    second()
    await until(() => !row())
    await other.close()
  })

  it('says when its page is put away, keeps quiet until it is back, and says so', async () => {
    mount()
    const heard: string[] = []
    const scope = `holdfast:devtools-${apps}:alice`
    const channel = new BroadcastChannel(`holdfast-devtools:${scope}`)
    channel.onmessage = ({ data }: MessageEvent) => void heard.push(data.kind)
    channel.postMessage({ kind: 'who' })
    await until(() => heard.includes('here'))
    window.dispatchEvent(new window.Event('pagehide'))
    await until(() => heard.at(-1) === 'gone')
    const { id } = server.put('alice')
    await until(() => id in client.store.getState().tasks)
    simulation.setHidden(true)
    window.dispatchEvent(new window.Event('pageshow'))
    await until(() => heard.at(-1) === 'who')
    expect(heard.slice(heard.indexOf('gone'))).toEqual(['gone', 'here', 'who'])
    channel.close()
  })

  it('tasks as they change, a closer look, and what can be done', async () => {
    const { id } = server.put('alice', { status: 'running', progress: 10, params: { prompt: 'a boat' } })
    mount({ initiallyOpen: true })
    choose('tasks')
    await until(() => text().includes('10%'))
    server.change(id, { progress: 55 })
    await until(() => text().includes('55%'))
    expect(find('progress').getAttribute('value')).not.toBeNull()
    buttonNamed('Details of image').click()
    expect(find('pre').textContent).toContain('"prompt": "a boat"')
    // The button keeps its focus while the row is drawn anew.
    const cancel = buttonNamed('Cancel image')
    cancel.focus()
    server.change(id, { progress: 70 })
    await until(() => text().includes('70%'))
    expect(root().activeElement).toBe(cancel)
    cancel.click()
    await until(() => text().includes('cancelled'))
    await until(() => find('[role=status]').textContent === 'Cancelled.')
    buttonNamed('Retry image').click()
    await until(() => Object.keys(client.store.getState().tasks).length === 2)
  })

  it('says in the error’s own words what did not work', async () => {
    const { id } = server.put('alice', { status: 'running' })
    mount({ initiallyOpen: true })
    choose('tasks')
    await until(() => text().includes('running'))
    server.next(`POST /v1/tasks/${id}/cancel`, { kind: 'fail', code: 'TASK_ALREADY_ENDED' })
    buttonNamed('Cancel image').click()
    await until(() => /ended/i.test(find('[role=status]').textContent ?? ''))
  })

  it('what waits in the outbox, and lets it be discarded', async () => {
    mount({ initiallyOpen: true })
    choose('outbox')
    expect(text()).toContain('Nothing waits')
    simulation.setOffline(true)
    await client.submit({ type: 'video', params: {} })
    await until(() => text().includes('waiting'))
    buttonNamed('Discard').click()
    await until(() => text().includes('Nothing waits'))
  })

  it('what is on disk, without changing it', async () => {
    const { id } = server.put('alice')
    mount({ initiallyOpen: true })
    await until(() => id in client.store.getState().tasks)
    choose('storage')
    await until(() => text().includes('What the next visit paints first'))
    await until(() => text().includes('Who leads'))
    expect(text()).toContain('durable')
    buttonNamed('Details of IndexedDB').click()
    expect(root().querySelector('.details pre')).not.toBeNull()
  })

  it('messages, which can be filtered and told to stand still', async () => {
    mount({ initiallyOpen: true })
    choose('messages')
    server.put('alice')
    await until(() => text().includes('News: 1 task'))
    buttonNamed('Pause').click()
    const count = root().querySelectorAll('tbody tr').length
    server.put('alice')
    await until(() => find('#tab-tasks .count').textContent === '2')
    expect(root().querySelectorAll('tbody tr')).toHaveLength(count)
    buttonNamed('Go on').click()
    await until(() => root().querySelectorAll('tbody tr').length > count)
    const filter = find('input') as HTMLInputElement
    filter.value = 'no such thing'
    filter.dispatchEvent(new window.Event('input', { bubbles: true }))
    await until(() => text().includes('Nothing matches'))
  })
})

describe('simulating', () => {
  beforeEach(signIn)

  it('offline and back, by its buttons', async () => {
    mount({ initiallyOpen: true })
    buttonNamed('Offline').click()
    await until(() => client.store.getState().connection === 'offline')
    await until(() => text().includes('The network is gone (simulated).'))
    expect(buttonNamed('Offline').getAttribute('aria-pressed')).toBe('true')
    buttonNamed('Offline').click()
    await until(() => client.store.getState().connection === 'push')
  })

  it('a crash covers the page, keeps the panel, and offers to reload', async () => {
    const reload = vi.fn()
    vi.stubGlobal('location', { reload })
    mount({ initiallyOpen: true })
    buttonNamed('Crash').click()
    expect(text()).toContain('This tab has crashed')
    expect(root().activeElement?.textContent).toBe('Reload')
    expect(buttonNamed('Crash').disabled).toBe(true)
    buttonNamed('Reload').click()
    expect(reload).toHaveBeenCalledTimes(1)
  })

  it('without a simulation the buttons rest, and say what they need', () => {
    mount({ initiallyOpen: true, simulation: undefined })
    for (const name of ['Hidden', 'Offline', 'Crash']) {
      const button = buttonNamed(name)
      expect(button.disabled).toBe(true)
      expect(button.getAttribute('aria-describedby')).toBe('simulation-note')
    }
    expect(find('#simulation-note').textContent).toContain('createSimulation().environment')
  })
})
