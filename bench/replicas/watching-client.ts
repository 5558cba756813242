import type { Task } from '@holdfast/shared'
import { Agent, buildConnector, fetch as undiciFetch } from 'undici'
import {
  type CreateTransport,
  createClient,
  createHoldfastTransport,
  type StreamNews,
} from '../../packages/client/src/index.ts'
import { MemoryStorage } from '../../packages/client/test/memory-storage.ts'
import type { ClientReport, ClientSettings, ClientsSettings } from './client-messages.ts'

export interface WatchingClient {
  /** Signs in. */
  open(): Promise<void>
  isPush(): boolean
  /** How many tasks its store has as completed. */
  completed(): number
  report(): ClientReport
  close(): Promise<void>
}

/** The client as pages use it, each with a browser of its own around it, and a note of what it is told when. */
export function createWatchingClient(
  settings: ClientSettings,
  { urls, ca }: ClientsSettings,
): WatchingClient {
  const { name, way, userId, token } = settings
  const completedAt: Record<string, number> = {}
  const beganAt: number[] = []
  const versions = new Map<string, number>()
  let browser = ''
  let wentBack = 0
  let spokeH2 = false

  function note({ id, status, version }: Task, now: number): void {
    if (version < (versions.get(id) ?? 0)) wentBack += 1
    versions.set(id, version)
    if (status === 'completed') completedAt[id] ??= now
  }

  function noteNews(news: StreamNews): void {
    const now = Date.now()
    if (news.event === 'snapshot') beganAt.push(now)
    if (news.event === 'conversations') return
    for (const task of news.event === 'task' ? [news.data.task] : news.data.tasks) note(task, now)
  }

  const transport: CreateTransport = (link) => {
    const real = createHoldfastTransport()(link)
    browser = link.browserId()
    return {
      ...real,
      stream: (options) =>
        real.stream?.({
          ...options,
          onNews(news, cursor) {
            noteNews(news)
            options.onNews(news, cursor)
          },
        }) ?? Promise.reject(new Error('There are no streams.')),
    }
  }

  // Its own connections, as a browser has: no two clients share one.
  const allowH2 = way === 'HTTP/2'
  const connect = buildConnector({ ca, allowH2 })
  const dispatcher = new Agent({
    allowH2,
    connect: (options, callback) =>
      connect(options, (...outcome) => {
        const [, socket] = outcome
        if (socket && 'alpnProtocol' in socket) spokeH2 = socket.alpnProtocol === 'h2'
        callback(...outcome)
      }),
  })
  const client = createClient({
    url: urls[way],
    // Names the lock by which its tabs choose a leader: it is the only tab.
    app: name,
    transport,
    // The same thing as Node's own, which takes no dispatcher of another version.
    fetch: ((input: string, init: object) =>
      undiciFetch(input, { ...init, dispatcher })) as unknown as typeof fetch,
    environment: { localStorage: new MemoryStorage(), sessionStorage: new MemoryStorage(), indexedDB: null },
  })

  const completed = () =>
    Object.values(client.store.getState().tasks).filter(({ status }) => status === 'completed').length

  return {
    open: () => client.setUser({ id: userId, getToken: () => token }),
    isPush: () => client.store.getState().connection === 'push',
    completed,
    report() {
      const { connection } = client.store.getState()
      return {
        name,
        way,
        userId,
        browser,
        connection,
        completedAt,
        beganAt,
        completed: completed(),
        wentBack,
        spokeH2,
      }
    },
    async close() {
      await client.close()
      await dispatcher.destroy()
    },
  }
}
