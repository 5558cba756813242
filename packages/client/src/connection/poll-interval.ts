import { isOverdue, isTerminal } from '@holdfast/shared'
import type { TaskMap } from '../store/merge-tasks.ts'

/**
 * How long to wait between two polls: images finish within seconds, everything else takes longer, and with
 * nothing under way only another device's submit can bring news. `now` is by the server's clock.
 */
export function pollInterval(tasks: TaskMap, now: number): number {
  let interval = 30_000
  for (const task of Object.values(tasks)) {
    if (isTerminal(task.status) || isOverdue(task, now)) continue
    if (/image/i.test(task.type)) return 2_000
    interval = 5_000
  }
  return interval
}
