import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

export interface ServerProcessOptions {
  binary: string
  args: string[]
  port: number
  account?: { uid: number; gid: number }
  /** What ends it if this process ends first. @default 'SIGKILL' */
  signalOnExit?: NodeJS.Signals
}

export interface ServerProcess {
  pid: number
  /** Waits for its end. Idempotent. */
  stop(signal?: NodeJS.Signals): Promise<void>
}

const READY_WITHIN_MS = 20_000

/** Runs a server until it is stopped, at the latest with this process; resolves when it accepts connections. */
export async function startServerProcess(options: ServerProcessOptions): Promise<ServerProcess> {
  const { binary, args, port, account, signalOnExit = 'SIGKILL' } = options
  const child = spawn(binary, args, { cwd: '/', stdio: ['ignore', 'pipe', 'pipe'], ...account })
  let said = ''
  const listen = (chunk: Buffer) => {
    said = (said + chunk).slice(-4_000)
  }
  child.stdout.on('data', listen)
  child.stderr.on('data', listen)
  await new Promise<void>((started, failed) => {
    child.once('spawn', started)
    child.once('error', failed)
  })
  const onExit = () => child.kill(signalOnExit)
  process.once('exit', onExit)
  const end = Date.now() + READY_WITHIN_MS
  while (!(await accepts(port))) {
    if (hasEnded(child) || Date.now() > end) {
      process.off('exit', onExit)
      child.kill(signalOnExit)
      throw new Error(`${binary} did not start to listen on port ${port}:\n${said}`)
    }
    await delay(10)
  }
  return {
    pid: child.pid ?? 0,
    async stop(signal = 'SIGTERM') {
      process.off('exit', onExit)
      if (hasEnded(child)) return
      const ended = once(child, 'exit')
      child.kill(signal)
      await ended
    },
  }
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null
}

function accepts(port: number): Promise<boolean> {
  return new Promise((answer) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => {
      socket.destroy()
      answer(true)
    })
    socket.once('error', () => answer(false))
  })
}
