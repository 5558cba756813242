import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { freePort } from '../../packages/server/test/free-port.ts'

const MAIN = fileURLToPath(new URL('../../packages/server/src/main.ts', import.meta.url))

/** With which an app's own backend acts for its users. */
export const SERVICE_KEY = 'the-service-key-of-the-end-to-end-tests'

/** One line of the server's JSON log. */
export interface LogLine {
  msg: string
  userId?: string
  browser?: string
  [field: string]: unknown
}

export interface HoldfastProcess {
  url: string
  /** The simulated provider. */
  simulatorUrl: string
  /** Everything it has logged, over all restarts. */
  log: LogLine[]
  /** How many streams of this user are open right now, by the server's own account. */
  openStreams(userId: string): number
  /** SIGKILL: no warning, no clean-up. */
  kill(): Promise<void>
  /** On the same port with the same data. */
  restart(): Promise<void>
  stop(): Promise<void>
}

/** `holdfast dev` as its users run it: a process of its own, with an embedded database and a simulated provider. */
export async function startHoldfast(): Promise<HoldfastProcess> {
  const dataDir = await mkdtemp(join(tmpdir(), 'holdfast-e2e-'))
  // As root, PostgreSQL runs as another user, who must be able to enter.
  await chmod(dataDir, 0o755)
  const port = await freePort()
  const simulatorPort = await freePort()
  const url = `http://localhost:${port}`
  const log: LogLine[] = []
  let child: ChildProcess | undefined

  async function start(): Promise<void> {
    const started = spawn(
      process.execPath,
      [
        '--conditions=holdfast-source',
        MAIN,
        'dev',
        '--port',
        `${port}`,
        '--simulator-port',
        `${simulatorPort}`,
        '--data-dir',
        dataDir,
        '--speed',
        '2',
      ],
      {
        stdio: ['ignore', 'pipe', 'inherit'],
        env: {
          ...process.env,
          LOG_LEVEL: 'info',
          LOG_FORMAT: 'json',
          NODE_ENV: 'development',
          SERVICE_KEYS: SERVICE_KEY,
          // Tests look more often than anybody would.
          REQUESTS_PER_MINUTE: '1000000',
          REQUESTS_PER_MINUTE_ANONYMOUS: '1000000',
        },
      },
    )
    child = started
    const lines = createInterface({ input: started.stdout })
    lines.on('line', (line) => {
      if (line.startsWith('{')) log.push(JSON.parse(line))
    })
    await new Promise<void>((resolve, reject) => {
      lines.on('line', (line) => {
        if (line.startsWith('Holdfast is at')) resolve()
      })
      started.once('exit', (code) =>
        reject(new Error(`holdfast dev ended with code ${code} before it was ready`)),
      )
    })
  }

  async function end(signal: NodeJS.Signals): Promise<void> {
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const exited = once(child, 'exit')
    child.kill(signal)
    await exited
  }

  await start()
  return {
    url,
    simulatorUrl: `http://localhost:${simulatorPort}`,
    log,
    openStreams(userId) {
      const ofUser = log.filter((line) => line.userId === userId)
      return (
        ofUser.filter((line) => line.msg === 'stream opened').length -
        ofUser.filter((line) => line.msg === 'stream closed').length
      )
    },
    async kill() {
      await end('SIGKILL')
      // Streams of a killed process never get to log their end.
      log.length = 0
    },
    restart: start,
    async stop() {
      await end('SIGTERM')
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}
