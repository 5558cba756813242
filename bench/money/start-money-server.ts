import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { MoneyServerSettings } from './settings.ts'

export interface MoneyServer {
  url: string
  /** The end of its log. */
  said(): string
  /** SIGKILL, and waits for its end. */
  kill(): Promise<void>
}

const ENTRY = fileURLToPath(new URL('./server-process.ts', import.meta.url))
const KEPT_LOG = 20_000

export async function startMoneyServer(settings: MoneyServerSettings): Promise<MoneyServer> {
  const child = spawn(process.execPath, ['--conditions=holdfast-source', ENTRY, JSON.stringify(settings)], {
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  let log = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log = (log + text).slice(-KEPT_LOG)
  })
  const died = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const port = await new Promise<number>((resolve, reject) => {
    child.once('error', reject)
    child.stdout.setEncoding('utf8').once('data', (line: string) => resolve(JSON.parse(line).port))
    void died.then(() => reject(new Error(`A server ended while starting.\n${log}`)))
  })
  return {
    url: `http://127.0.0.1:${port}`,
    said: () => log,
    async kill() {
      child.kill('SIGKILL')
      await died
    },
  }
}
