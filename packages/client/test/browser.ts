import { IDBFactory } from 'fake-indexeddb'
import { vi } from 'vitest'
import { type CreateTransport, createClient, type Environment, type HoldfastClient } from '../src/index.ts'
import { createManualClock, type ManualClock } from './manual-clock.ts'
import { MemoryStorage } from './memory-storage.ts'

export interface TabOptions {
  /** What the tab before the reload kept. */
  sessionStorage?: MemoryStorage
  environment?: Partial<Environment>
  fetch?: typeof fetch
  transport?: CreateTransport
}

export interface Tab {
  client: HoldfastClient
  page: EventTarget
  sessionStorage: MemoryStorage
  tokens: { fresh: boolean }[]
  signIn(user?: string): Promise<void>
}

let browsers = 0

/** One browser whose tabs share storage, locks and channel: Node's own locks and channels, under names of its own. */
export function createBrowser(url: string) {
  const app = `browser-${++browsers}`
  const indexedDB = new IDBFactory()
  const localStorage = new MemoryStorage()
  const clock = createManualClock()
  const open = new Set<HoldfastClient>()

  function openTab(options: TabOptions = {}): Tab {
    const page = new EventTarget()
    const sessionStorage = options.sessionStorage ?? new MemoryStorage()
    const tokens: { fresh: boolean }[] = []
    const client = createClient({
      url,
      app,
      fetch: options.fetch,
      transport: options.transport,
      environment: {
        clock,
        indexedDB,
        localStorage,
        sessionStorage,
        page,
        afterFrame: (run) => run(),
        ...options.environment,
      },
    })
    open.add(client)
    return {
      client,
      page,
      sessionStorage,
      tokens,
      signIn: (user = 'alice') =>
        client.setUser({
          id: user,
          getToken(how) {
            tokens.push(how)
            return how.fresh ? `${user}.fresh` : user
          },
        }),
    }
  }

  return {
    app,
    clock,
    indexedDB,
    localStorage,
    openTab,
    async close() {
      await Promise.all([...open].map((client) => client.close()))
    },
  }
}

/** Lets sockets and channels work, without moving the clock, until the check passes. */
export function until(check: () => unknown): Promise<unknown> {
  return vi.waitFor(
    async () => {
      if (!(await check())) throw new Error(`not yet: ${check}`)
    },
    { timeout: 4_000, interval: 5 },
  )
}

/** Moves the clock on in steps, giving sockets a turn between them, until the check passes. */
export function elapse(clock: ManualClock, check: () => unknown, step = 500): Promise<unknown> {
  return vi.waitFor(
    async () => {
      if (await check()) return
      clock.advance(step)
      throw new Error(`not yet: ${check}`)
    },
    { timeout: 4_000, interval: 10 },
  )
}
