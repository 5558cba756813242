import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'

/**
 * How long the page is kept busy to be found. The kernel counts in hundredths of a second, and a busy machine gives
 * a page only a few of them.
 */
const BUSY_MS = [300, 1_000, 3_000, 9_000]

/**
 * SIGKILL for the process that runs a page, which neither protocol names: it is the one, of those below `root`
 * whose command line matches, that works while the page works.
 */
export async function killProcessOfPage(options: {
  root: number
  matches: RegExp
  /** Runs in the page and blocks it for so many milliseconds. */
  keepBusy(ms: number): Promise<void>
}): Promise<void> {
  const { root, matches, keepBusy } = options
  for (const ms of BUSY_MS) {
    const before = processesBelow(root, matches)
    await keepBusy(ms)
    const worked = [...processesBelow(root, matches)]
      .map(([pid, ticks]) => ({ pid, ticks: ticks - (before.get(pid) ?? 0) }))
      .sort((a, b) => b.ticks - a.ticks)
    const [most, next] = worked
    if (most && most.ticks >= 10 && most.ticks >= 3 * (next?.ticks ?? 0)) return kill(most.pid)
  }
  throw new Error(`No process matching ${matches} could be told to be the one that runs the page.`)
}

async function kill(pid: number): Promise<void> {
  process.kill(pid, 'SIGKILL')
  // A zombie is dead enough: its parent may take its time.
  for (let stat = statOf(pid); stat && stat.state !== 'Z'; stat = statOf(pid)) await pause(5)
}

/** Process id → processor time, in the kernel's ticks. */
function processesBelow(root: number, matches: RegExp): Map<number, number> {
  const stats = new Map<number, Stat>()
  for (const name of readdirSync('/proc')) {
    const stat = /^\d+$/.test(name) ? statOf(Number(name)) : null
    if (stat) stats.set(Number(name), stat)
  }
  const isBelow = (pid: number): boolean => {
    const parent = stats.get(pid)?.parent
    return parent === root || (parent !== undefined && parent > 1 && isBelow(parent))
  }
  return new Map(
    [...stats]
      .filter(([pid]) => isBelow(pid) && matches.test(commandOf(pid)))
      .map(([pid, { ticks }]) => [pid, ticks]),
  )
}

interface Stat {
  state: string
  parent: number
  ticks: number
}

/** Null: it is gone. */
function statOf(pid: number): Stat | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name in brackets may hold spaces and brackets.
    const [state = '', parent, ...rest] = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return { state, parent: Number(parent), ticks: Number(rest[9]) + Number(rest[10]) }
  } catch {
    return null
  }
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
  } catch {
    // Gone since.
    return ''
  }
}
