import { fileURLToPath } from 'node:url'
import { freePort } from '../../packages/server/test/free-port.ts'
import { type Replica, startServer } from './start-server.ts'

/** `holdfast serve`, and what its log tells. */
export interface ServeReplica extends Replica {
  port: number
  /** Browsers whose streams it has opened, those that have left included. */
  browsers: ReadonlySet<string>
  /** Tasks that it ended, and when it knew that this is committed, by the machine's clock. */
  settled: ReadonlyMap<string, number>
}

const MAIN = fileURLToPath(new URL('../../packages/server/src/main.ts', import.meta.url))

/** Starts `holdfast serve` with these settings and no others. */
export async function startServe(env: Record<string, string>): Promise<ServeReplica> {
  const port = await freePort()
  const browsers = new Set<string>()
  const settled = new Map<string, number>()

  function onLine(text: string): void {
    if (!text.startsWith('{')) return
    const line: { msg?: string; browser?: string; taskId?: string; time: string } = JSON.parse(text)
    if (line.msg === 'stream opened' && line.browser) browsers.add(line.browser)
    if (line.msg === 'settled' && line.taskId) settled.set(line.taskId, Date.parse(line.time))
  }

  const replica = await startServer({
    args: [MAIN, 'serve'],
    env: { PATH: process.env.PATH ?? '', PORT: String(port), ...env },
    readUrl: (line) => (line.includes('"msg":"serving"') ? `http://127.0.0.1:${port}` : null),
    onLine,
  })
  return { ...replica, port, browsers, settled }
}
