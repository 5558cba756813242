import { readFile } from 'node:fs/promises'

/** What a process has in memory; not a number where there is no `/proc`, or no such process any more. */
export async function residentBytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) * 1024
}
