import { readdir, readFile } from 'node:fs/promises'

/** Linux counts CPU time in hundredths of a second for everyone to see, whatever the kernel's own tick is. */
const TICKS_PER_SECOND = 100

/**
 * CPU time of a process and of its children, those that have ended included: PostgreSQL is a process per connection.
 * Null where there is no `/proc`.
 */
export async function cpuSecondsOf(pid: number): Promise<number | null> {
  const own = await readStat(pid)
  if (!own) return null
  let ticks = own.ticks + own.ticksOfEnded
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const other = await readStat(Number(name))
    if (other?.parent === pid) ticks += other.ticks + other.ticksOfEnded
  }
  return ticks / TICKS_PER_SECOND
}

async function readStat(pid: number) {
  // A process may end while we look.
  const line = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null)
  if (line === null) return null
  // The name in parentheses may contain spaces; what comes after does not.
  const fields = line.slice(line.lastIndexOf(')') + 2).split(' ')
  const field = (number: number) => Number(fields[number - 3])
  return { parent: field(4), ticks: field(14) + field(15), ticksOfEnded: field(16) + field(17) }
}
