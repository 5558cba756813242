import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'

/** Far more than a page takes by itself within a moment. */
const BALLAST_MB = 100

/** Runs in the page. What is written to takes room for real. */
export function takeBallast(megabytes: number): void {
  Object.assign(window, { ballast: new Uint8Array(megabytes * 2 ** 20).fill(1) })
}

/**
 * SIGKILL for the process that runs a page, which neither protocol names: it is the one, of those below `root`
 * whose command line matches, that grows when the page takes memory.
 */
export async function killProcessOfPage(options: {
  root: number
  matches: RegExp
  /** Runs `takeBallast` in the page. */
  load(megabytes: number): Promise<void>
}): Promise<void> {
  const { root, matches, load } = options
  const before = processesBelow(root, matches)
  await load(BALLAST_MB)
  const grown = [...processesBelow(root, matches)]
    .map(([pid, megabytes]) => ({ pid, by: megabytes - (before.get(pid) ?? 0) }))
    .filter(({ pid, by }) => before.has(pid) && by > 0.8 * BALLAST_MB)
  const [found, another] = grown
  if (!found || another) {
    throw new Error(
      `Of the processes matching ${matches}, ${grown.length} grew with the page instead of one.`,
    )
  }
  process.kill(found.pid, 'SIGKILL')
  // A zombie is dead enough: its parent may take its time.
  while (!/^(Z.*)?$/.test(fieldOf(found.pid, 'State'))) await pause(5)
}

/** Process id → megabytes it has in memory. */
function processesBelow(root: number, matches: RegExp): Map<number, number> {
  const parents = new Map(
    readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map((pid) => [Number(pid), Number(fieldOf(Number(pid), 'PPid'))]),
  )
  const isBelow = (pid: number): boolean => {
    const parent = parents.get(pid) ?? 0
    return parent === root || (parent > 1 && isBelow(parent))
  }
  return new Map(
    [...parents.keys()]
      .filter((pid) => isBelow(pid) && matches.test(read(`/proc/${pid}/cmdline`)))
      .map((pid) => [pid, Number.parseInt(fieldOf(pid, 'VmRSS'), 10) / 1024]),
  )
}

/** Of what the kernel says about a process; empty when that is gone. */
function fieldOf(pid: number, field: 'State' | 'PPid' | 'VmRSS'): string {
  return new RegExp(`^${field}:\\s*(.*)$`, 'm').exec(read(`/proc/${pid}/status`))?.[1] ?? ''
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    // Processes come and go while we look.
    return ''
  }
}
