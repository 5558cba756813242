import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

export interface ServerOptions {
  /** The script and its arguments. */
  args: string[]
  /** All that it sees of the environment. @default ours */
  env?: Record<string, string>
  /** Is shown each line of its standard output until one says where it listens: then the URL. */
  readUrl(line: string): string | null
  /** Each line of its standard output. */
  onLine?(line: string): void
}

/** A server in a process of its own. */
export interface Replica {
  url: string
  pid: number
  isAlive(): boolean
  /** The end of its log. */
  said(): string
  /** What its `/metrics` says under this name, added up over the labels that contain `labels`; 0 when absent. */
  metric(name: string, labels?: string): Promise<number>
  /** SIGSTOP, and SIGCONT. */
  pause(): void
  wake(): void
  /** SIGKILL, and waits for its end. */
  kill(): Promise<void>
}

const KEPT_LOG = 200_000
const START_WITHIN_MS = 60_000
const ANSWER_WITHIN_MS = 5_000

/** Starts one from its sources. It ends at the latest with this process. */
export async function startServer(options: ServerOptions): Promise<Replica> {
  const { args, env, readUrl, onLine } = options
  const child = spawn(process.execPath, ['--conditions=holdfast-source', ...args], {
    stdio: ['pipe', 'pipe', 'pipe'],
    ...(env ? { env } : {}),
  })
  let log = ''
  let alive = true
  const keep = (text: string) => {
    log = (log + text).slice(-KEPT_LOG)
  }
  child.stderr.setEncoding('utf8').on('data', keep)
  const lines = createInterface({ input: child.stdout })
  lines.on('line', (line) => {
    keep(`${line}\n`)
    onLine?.(line)
  })
  const onExit = () => child.kill('SIGKILL')
  process.once('exit', onExit)
  const died = new Promise<void>((resolve) => {
    child.once('exit', () => {
      alive = false
      process.off('exit', onExit)
      resolve()
    })
  })
  const kill = async () => {
    child.kill('SIGKILL')
    await died
  }

  const url = await new Promise<string>((resolve, reject) => {
    const fail = (why: string) => reject(new Error(`A replica ${why}.\n${log}`))
    const timer = setTimeout(() => fail(`did not start within ${START_WITHIN_MS / 1000} s`), START_WITHIN_MS)
    const look = (line: string) => {
      const found = readUrl(line)
      if (found === null) return
      clearTimeout(timer)
      lines.off('line', look)
      resolve(found)
    }
    lines.on('line', look)
    child.once('error', reject)
    void died.then(() => {
      clearTimeout(timer)
      fail('ended while starting')
    })
  }).catch(async (error: unknown) => {
    await kill()
    throw error
  })

  return {
    url,
    pid: child.pid ?? 0,
    isAlive: () => alive,
    said: () => log,
    async metric(name, labels = '') {
      const response = await fetch(`${url}/metrics`, { signal: AbortSignal.timeout(ANSWER_WITHIN_MS) })
      const found = (await response.text()).split('\n')
      return found
        .filter((line) => line.startsWith(`${name}{`) && line.includes(labels))
        .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0)
    },
    pause: () => void child.kill('SIGSTOP'),
    wake: () => void child.kill('SIGCONT'),
    kill,
  }
}
