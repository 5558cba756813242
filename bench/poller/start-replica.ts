import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { ReplicaSettings } from './replica-settings.ts'

export interface Replica {
  url: string
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

const ENTRY = fileURLToPath(new URL('./replica-process.ts', import.meta.url))
const KEPT_LOG = 200_000
const START_WITHIN_MS = 30_000
const ANSWER_WITHIN_MS = 5_000

/** Starts a server in a process of its own. */
export async function startReplica(settings: ReplicaSettings): Promise<Replica> {
  const child = spawn(process.execPath, ['--conditions=holdfast-source', ENTRY, JSON.stringify(settings)], {
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  let log = ''
  let alive = true
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log = (log + text).slice(-KEPT_LOG)
  })
  const died = new Promise<void>((resolve) => {
    child.once('exit', () => {
      alive = false
      resolve()
    })
  })
  const kill = async () => {
    child.kill('SIGKILL')
    await died
  }

  const port = await new Promise<number>((resolve, reject) => {
    const fail = (why: string) => reject(new Error(`A replica ${why}.\n${log}`))
    const timer = setTimeout(() => fail(`did not start within ${START_WITHIN_MS / 1000} s`), START_WITHIN_MS)
    child.once('error', reject)
    child.stdout.setEncoding('utf8').once('data', (line: string) => {
      clearTimeout(timer)
      resolve(JSON.parse(line).port)
    })
    void died.then(() => {
      clearTimeout(timer)
      fail('ended while starting')
    })
  }).catch(async (error: unknown) => {
    await kill()
    throw error
  })

  const url = `http://127.0.0.1:${port}`
  return {
    url,
    isAlive: () => alive,
    said: () => log,
    async metric(name, labels = '') {
      const response = await fetch(`${url}/metrics`, { signal: AbortSignal.timeout(ANSWER_WITHIN_MS) })
      const lines = (await response.text()).split('\n')
      return lines
        .filter((line) => line.startsWith(`${name}{`) && line.includes(labels))
        .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0)
    },
    pause: () => void child.kill('SIGSTOP'),
    wake: () => void child.kill('SIGCONT'),
    kill,
  }
}
