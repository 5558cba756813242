import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

export interface LockProcessOptions {
  kind: 'advisory' | 'redis'
  name: string
  url: string
  ttlMs: number
  retryMs?: number
}

export interface LockProcess {
  signal(name: NodeJS.Signals): void
  /** When `event` was first said, by the clock of the machine. */
  says(event: 'held' | 'work' | 'lost'): Promise<number>
  /** When it last worked under the lock. */
  lastWorkAt(): number
  end(): Promise<void>
}

/** Runs `lock-child.ts`: a holder that can be killed and paused like any process. */
export function startLockProcess(options: LockProcessOptions): LockProcess {
  const script = fileURLToPath(new URL('lock-child.ts', import.meta.url))
  const child = spawn(process.execPath, ['--conditions=holdfast-source', script, JSON.stringify(options)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit')
  const first = {
    held: Promise.withResolvers<number>(),
    work: Promise.withResolvers<number>(),
    lost: Promise.withResolvers<number>(),
  }
  let lastWorkAt = 0
  createInterface(child.stdout).on('line', (line) => {
    const { event, at } = JSON.parse(line) as { event: keyof typeof first; at: number }
    first[event].resolve(at)
    if (event === 'work') lastWorkAt = at
  })
  return {
    signal: (name) => void child.kill(name),
    says: (event) => first[event].promise,
    lastWorkAt: () => lastWorkAt,
    async end() {
      child.kill('SIGKILL')
      await exited
    },
  }
}
