import { type Child, startChild } from './child.ts'
import type {
  ClientsAnswer,
  ClientsOrder,
  ServerAnswer,
  ServerOrder,
  ServerSettings,
} from './stream-messages.ts'

const CLIENT_PROCESSES = 2
type Server = Child<ServerOrder, ServerAnswer> & { port: number; name: string }
type Clients = Child<ClientsOrder, ClientsAnswer>

export interface StreamLab {
  start(name: 'holdfast' | 'bare', settings: ServerSettings): Promise<Server>
  /** Opens all streams of all users; returns how many a second, and the bytes that each takes at the server. */
  open(server: Server, settings: ServerSettings): Promise<{ perSecond: number; bytesPerStream: number }>
  saturate(server: Server, forMs: number): Promise<{ perSecond: number; cpuMicros: number }>
  /** From each end of a task to the last of its user's streams, in milliseconds. */
  settle(server: Server, options: { count: number; perSecond: number; fanOut: number }): Promise<number[]>
  close(server: Server): Promise<void>
  stop(): Promise<void>
}

export async function openStreamLab(): Promise<StreamLab> {
  const clients: Clients[] = []
  for (let n = 0; n < CLIENT_PROCESSES; n += 1) clients.push(await startChild('./clients-process.ts', {}))
  const servers: Server[] = []
  const count = async (server: string) =>
    (await Promise.all(clients.map((each) => each.ask({ kind: 'count', server }, 'count')))).reduce(
      (sum, { messages }) => sum + messages,
      0,
    )

  return {
    async start(name, settings) {
      const child = await startChild<ServerOrder, ServerAnswer>(`./${name}-process.ts`, settings)
      const port = child.ready.kind === 'ready' ? child.ready.port : 0
      const server = { ...child, port, name: `${name}-${port}` }
      servers.push(server)
      return server
    },
    async open(server, { users, streamsPerUser }) {
      const before = await server.ask({ kind: 'memory' }, 'memory')
      const tokens = Array.from({ length: users * streamsPerUser }, (_, n) => `user-${n % users}`)
      const startedAt = performance.now()
      await Promise.all(
        clients.map((each, index) =>
          each.ask(
            {
              kind: 'open',
              port: server.port,
              server: server.name,
              tokens: tokens.filter((_, n) => n % clients.length === index),
            },
            'open',
          ),
        ),
      )
      const seconds = (performance.now() - startedAt) / 1000
      const after = await server.ask({ kind: 'memory' }, 'memory')
      if (after.open < tokens.length)
        throw new Error(`Only ${after.open} of ${tokens.length} streams are open.`)
      return {
        perSecond: tokens.length / seconds,
        bytesPerStream: (after.rssBytes - before.rssBytes) / tokens.length,
      }
    },
    async saturate(server, forMs) {
      await count(server.name)
      const startedAt = performance.now()
      const { cpuMs } = await server.ask({ kind: 'saturate', forMs }, 'saturated')
      // What is still on its way to slow clients counts, with the time that it takes.
      let messages = await count(server.name)
      for (let more = messages; more > 0; messages += more) {
        await new Promise((resolve) => setTimeout(resolve, 50))
        more = await count(server.name)
      }
      const seconds = (performance.now() - startedAt) / 1000
      return { perSecond: messages / seconds, cpuMicros: (cpuMs * 1000) / messages }
    },
    async settle(server, { fanOut, ...order }) {
      const { at } = await server.ask({ kind: 'settle', ...order }, 'settled')
      const arrivals = await Promise.all(clients.map((each) => each.ask({ kind: 'arrivals' }, 'arrivals')))
      return Object.entries(at).map(([taskId, endedAt]) => {
        const told = arrivals.reduce((sum, { streams }) => sum + (streams[taskId] ?? 0), 0)
        if (told !== fanOut) throw new Error(`${told} of ${fanOut} streams were told of an end.`)
        return Math.max(...arrivals.map(({ last }) => last[taskId] ?? 0)) - endedAt
      })
    },
    async close(server) {
      await Promise.all(clients.map((each) => each.ask({ kind: 'close', server: server.name }, 'closed')))
      await server.stop()
    },
    async stop() {
      await Promise.all([...servers, ...clients].map((child) => child.stop()))
    },
  }
}
