import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'

export interface RunningProcess {
  /** With the pid it names a process for good: pids are used again, start times are not. */
  startedAt: string
  command: string
}

/** A process that has ended but was not yet collected by its parent still has a pid: it counts as gone. */
export async function inspectProcess(pid: number): Promise<RunningProcess | null> {
  return process.platform === 'linux' ? inspectByProc(pid) : inspectByPs(pid)
}

async function inspectByProc(pid: number): Promise<RunningProcess | null> {
  try {
    const [stat, command] = await Promise.all([
      readFile(`/proc/${pid}/stat`, 'utf8'),
      readFile(`/proc/${pid}/cmdline`, 'utf8'),
    ])
    // The name in the second field may hold spaces and brackets; counting starts after it, at field 3.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const state = fields[0]
    const startedAt = fields[19]
    if (state === 'Z' || state === 'X' || startedAt === undefined) return null
    return { startedAt, command: command.replaceAll('\0', ' ').trim() }
  } catch {
    // ENOENT, or ESRCH when it ended while we were reading: gone either way.
    return null
  }
}

async function inspectByPs(pid: number): Promise<RunningProcess | null> {
  try {
    const { stdout } = await promisify(execFile)(
      'ps',
      ['-ww', '-o', 'stat=', '-o', 'lstart=', '-o', 'command=', '-p', String(pid)],
      { env: { LC_ALL: 'C' } },
    )
    // "Ss   Mon Nov 16 03:00:07 2026     /path/to/postgres -D …"
    const match = /^\s*(\S+)\s+(\S+ +\S+ +\d+ [\d:]+ \d+)\s+(.*)$/s.exec(stdout)
    if (!match?.[1] || match[1].startsWith('Z')) return null
    return { startedAt: match[2] ?? '', command: (match[3] ?? '').trim() }
  } catch {
    // ps exits with 1 when there is no such process.
    return null
  }
}
