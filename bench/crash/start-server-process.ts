import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { ServerProcessSettings } from './orders.ts'

export interface ServerProcess {
  /** Null if it was killed before it could say where it is. */
  url: string | null
  /** Resolves when the process is gone. */
  died: Promise<void>
  isAlive(): boolean
  /** Whether it was killed, as opposed to having ended by itself. */
  wasKilled(): boolean
  /** The end of its log, for reading after a violation. */
  said(): string
  /** Asks it to stop in good order. */
  stop(): void
  /** SIGKILL, and waits for its end. */
  kill(): Promise<void>
}

const PRELOAD = new URL('./preload.ts', import.meta.url).href
const ENTRY = fileURLToPath(new URL('./server-process.ts', import.meta.url))
const KEPT_LOG = 20_000
const START_WITHIN_MS = 30_000

/** Starts a real server in a process of its own; instrumented only if there are orders. */
export async function startServerProcess(settings: ServerProcessSettings): Promise<ServerProcess> {
  const child = spawn(
    process.execPath,
    [
      '--conditions=holdfast-source',
      ...(settings.orders ? ['--import', PRELOAD] : []),
      ENTRY,
      JSON.stringify(settings),
    ],
    { stdio: ['pipe', 'pipe', 'pipe'] },
  )
  let log = ''
  let alive = true
  let killed = false
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log = (log + text).slice(-KEPT_LOG)
  })
  const ended = new Promise<NodeJS.Signals | null>((resolve) => {
    child.once('exit', (_code, signal) => {
      alive = false
      killed = signal === 'SIGKILL'
      resolve(signal)
    })
  })
  const died = ended.then(() => undefined)
  const kill = async () => {
    child.kill('SIGKILL')
    await died
  }

  const port = await new Promise<number | null>((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new Error(`A server did not start within ${START_WITHIN_MS / 1000} s.\n${log}`)),
      START_WITHIN_MS,
    )
    child.once('error', reject)
    child.stdout.setEncoding('utf8').once('data', (line: string) => {
      clearTimeout(timer)
      resolve(JSON.parse(line).port)
    })
    void ended.then((signal) => {
      clearTimeout(timer)
      if (signal === 'SIGKILL') resolve(null)
      else reject(new Error(`A server ended while starting.\n${log}`))
    })
  }).catch(async (error: unknown) => {
    await kill()
    throw error
  })

  const url = port === null ? null : `http://127.0.0.1:${port}`
  return {
    url,
    died,
    isAlive: () => alive,
    wasKilled: () => killed,
    said: () => log,
    stop: () => void child.kill('SIGTERM'),
    kill,
  }
}
