import { fileURLToPath } from 'node:url'
import { type Replica, startServer } from '../replicas/start-server.ts'
import type { ContenderName, ContenderSettings } from './settings.ts'

const FILES: Record<ContenderName, string> = {
  now: './holdfast-process.ts',
  before: './holdfast-process.ts',
  'pg-boss': './pg-boss-process.ts',
  bullmq: './bullmq-process.ts',
  bare: './bare-process.ts',
}

const ENDS_WITHIN_MS = 20_000

export interface Contender extends Replica {
  /** Asks it to end, and waits: what it has learned is written by then. */
  stop(): Promise<void>
}

/** A contender in a process of its own, with its database and folder to itself. */
export async function startContender(name: ContenderName, settings: ContenderSettings): Promise<Contender> {
  const file = fileURLToPath(new URL(FILES[name], import.meta.url))
  const server = await startServer({
    args: [file, JSON.stringify(settings)],
    readUrl: (line) => (line.startsWith('{"port"') ? `http://127.0.0.1:${JSON.parse(line).port}` : null),
  })
  return {
    ...server,
    async stop() {
      process.kill(server.pid, 'SIGTERM')
      const giveUpAt = performance.now() + ENDS_WITHIN_MS
      while (server.isAlive() && performance.now() < giveUpAt) {
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
      if (server.isAlive()) await server.kill()
    },
  }
}
