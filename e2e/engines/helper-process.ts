import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import type { Readable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'

/** A program that the tests need beside them. */
export interface HelperProcess {
  pid: number
  /** The first line it writes to its file descriptor 3. */
  firstLine(): Promise<string>
  /** Until it accepts connections at this port of loopback. */
  listensAt(port: number): Promise<void>
  stop(): Promise<void>
}

/** Ends with us in any case: the kernel sends it SIGTERM, also when we are killed and can stop nothing. */
export async function startHelper(
  command: string,
  args: string[],
  env: Record<string, string> = {},
): Promise<HelperProcess> {
  const child = spawn('setpriv', ['--pdeathsig', 'TERM', '--', command, ...args], {
    env: { ...process.env, ...env },
    // They warn of what a machine without a desktop lacks.
    stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
  })
  await once(child, 'spawn')
  const check = () => {
    if (isOver(child)) throw new Error(`${command} ended by itself (${child.exitCode ?? child.signalCode}).`)
  }
  return {
    pid: child.pid as number,
    async firstLine() {
      const [text] = await Promise.race([
        once(child.stdio[3] as Readable, 'data'),
        once(child, 'exit').then(() => ['']),
      ])
      check()
      return String(text).trim()
    },
    async listensAt(port) {
      while (!(await accepts(port))) {
        check()
        await pause(20)
      }
    },
    async stop() {
      if (isOver(child)) return
      const exited = once(child, 'exit')
      child.kill('SIGKILL')
      await exited
    },
  }
}

const isOver = (child: ChildProcess) => child.exitCode !== null || child.signalCode !== null

async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}
