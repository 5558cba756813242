import { readFile, realpath, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { inspectProcess } from './running-process.ts'

export interface Postmaster {
  pid: number
  port: number
  command: string
  /** It lets connections in. */
  ready: boolean
}

/**
 * The server that already runs on this data, if there is one. `postmaster.pid` outlives a crash, so its pid
 * must be alive and be PostgreSQL on this very folder.
 */
export async function findPostmaster(data: string): Promise<Postmaster | null> {
  let lines: string[]
  try {
    lines = (await readFile(join(data, 'postmaster.pid'), 'utf8')).split('\n')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
  const pid = Number(lines[0])
  const running = pid > 0 ? await inspectProcess(pid) : null
  const isOurs =
    running?.command.split(' ')[0]?.endsWith('/postgres') &&
    running.command.includes(`-D ${await realpath(data)} `)
  return running && isOurs
    ? { pid, port: Number(lines[3]), command: running.command, ready: lines[7]?.trim() === 'ready' }
    : null
}

/**
 * PostgreSQL will not start while the pid in its lock file is anybody's, even a stranger's after a reboot or a
 * process that ended and that nobody collects, as in a container without init. Only for data that we own and
 * on which `findPostmaster` found nobody.
 */
export async function removeStaleLock(data: string): Promise<void> {
  await rm(join(data, 'postmaster.pid'), { force: true })
}

/** Waits until the process is gone; false if it is still there after the limit. */
async function waitUntilGone(pid: number, limitMs: number): Promise<boolean> {
  const end = Date.now() + limitMs
  while (await inspectProcess(pid)) {
    if (Date.now() > end) return false
    await delay(15)
  }
  return true
}

/**
 * Fast shutdown: open transactions are rolled back, everything is written. If that hangs, an immediate one,
 * from which the next start recovers by the write-ahead log.
 */
export async function stopPostmaster(pid: number, limitMs = 15_000): Promise<void> {
  for (const [signal, patience] of [
    ['SIGINT', limitMs],
    ['SIGQUIT', 10_000],
  ] as const) {
    try {
      process.kill(pid, signal)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ESRCH') return
      throw error
    }
    if (await waitUntilGone(pid, patience)) return
  }
  throw new Error(`PostgreSQL (process ${pid}) does not stop. End it by hand: kill -QUIT ${pid}`)
}
