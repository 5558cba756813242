import { afterEach, expect, it, vi } from 'vitest'
import { until } from '../../test/browser.ts'
import { startContractServer } from '../../test/contract-server.ts'
import { createClient } from '../index.ts'
import { browserEnvironment } from './environment.ts'

const BLOCKED = ['localStorage', 'sessionStorage', 'indexedDB'] as const

function block() {
  for (const name of BLOCKED) {
    Object.defineProperty(globalThis, name, {
      configurable: true,
      get() {
        throw new DOMException('The operation is insecure.', 'SecurityError')
      },
    })
  }
}

afterEach(() => {
  for (const name of BLOCKED) Reflect.deleteProperty(globalThis, name)
  vi.unstubAllGlobals()
})

it('a tab that is hidden before its first frame does not wait for it for ever', () => {
  vi.useFakeTimers()
  try {
    const frames: (() => void)[] = []
    vi.stubGlobal('requestAnimationFrame', (run: () => void) => frames.push(run))
    const ran: string[] = []
    browserEnvironment().afterFrame(() => ran.push('hidden'))
    expect(ran).toEqual([])
    vi.advanceTimersByTime(1_000)
    expect(ran).toEqual(['hidden'])
    browserEnvironment().afterFrame(() => ran.push('seen'))
    frames.at(-1)?.()
    // Not in the frame itself: it is not on the screen yet.
    expect(ran).toEqual(['hidden'])
    vi.advanceTimersByTime(0)
    expect(ran).toEqual(['hidden', 'seen'])
  } finally {
    vi.useRealTimers()
  }
})

it('counts blocked storage as missing', () => {
  block()
  expect(browserEnvironment()).toMatchObject({ indexedDB: null, localStorage: null, sessionStorage: null })
})

it('works with all storage blocked, and says that nothing outlives the page', async () => {
  block()
  const server = await startContractServer()
  const task = server.put('alice')
  const client = createClient({ url: server.url, app: 'blocked' })
  await client.setUser({ id: 'alice', getToken: () => 'alice' })
  await until(() => client.store.getState().connection === 'push')
  expect(client.store.getState()).toMatchObject({
    storage: 'memory',
    storageProblem: 'missing',
    tasks: { [task.id]: { stale: false } },
  })
  const { storage, task: submitted } = await client.submit({ type: 'image', params: {} })
  expect(storage).toBe('memory')
  const { id } = await submitted
  expect(client.store.getState().tasks).toHaveProperty(id)
  await client.logout()
  await server.stop()
})

it('creating a client touches nothing of the browser', () => {
  block()
  const touched: string[] = []
  vi.stubGlobal('navigator', new Proxy({}, { get: (_, name) => void touched.push(String(name)) }))
  const client = createClient()
  expect(client.store.getState()).toMatchObject({ userId: null, restore: 'signed-out' })
  expect(touched).toEqual([])
})
