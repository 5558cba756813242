import { readdir, rm, stat } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { isMissing } from './object-file.ts'

const DAY_MS = 24 * 60 * 60_000
const NAME = /^(.+)\.(\d+)\.[0-9a-f-]{36}$/

/** Says whose it is, so that a later process can tell whether anybody still writes to it. */
export function temporaryName(id: string): string {
  return `${host()}.${process.pid}.${id}`
}

/** Removes what processes left that were killed while they wrote. What a living one writes is let be. */
export async function removeLeftovers(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const path = join(folder, name)
    try {
      if (await isLeftover(name, path)) await rm(path, { force: true })
    } catch (error) {
      // Finished, or removed by another process, since we read the folder.
      if (!isMissing(error)) throw error
    }
  }
}

async function isLeftover(name: string, path: string): Promise<boolean> {
  const { mtimeMs } = await stat(path)
  // Of another machine nobody knows which processes live; but no upload is silent for a day.
  if (Date.now() - mtimeMs > DAY_MS) return true
  const [, owner, pid] = NAME.exec(name) ?? []
  if (owner !== host()) return false
  // A container starts each of its processes with the same pid, so an earlier one may have had ours.
  if (Number(pid) === process.pid) return mtimeMs < Date.now() - process.uptime() * 1_000
  return !isAlive(Number(pid))
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    // EPERM: there is one, of another user.
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

function host(): string {
  return (
    hostname()
      .replace(/[^A-Za-z0-9-]/g, '-')
      .slice(0, 60) || 'host'
  )
}
