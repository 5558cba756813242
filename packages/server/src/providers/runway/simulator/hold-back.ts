import { endOf, type SimulatedTask } from '../../simulation/simulated-task.ts'

/** How a task is reported that waits because as many of its model run as may. */
export const THROTTLED = 'THROTTLED'

/** Longer than anybody waits; a state file cannot hold infinity. */
const NEVER_MS = 1e13

/**
 * Holds back what is over the limit: a task begins when so many before it, of the same model, have ended that there is
 * room. Worked out anew from all tasks, oldest first, since any of them may have been cancelled meanwhile.
 */
export function holdBack(tasks: Iterable<SimulatedTask>, concurrency: number): void {
  const endsOf = new Map<string, number[]>()
  for (const task of tasks) {
    const ends = endsOf.get(task.model) ?? []
    endsOf.set(task.model, ends)
    setHold(task, (ends[concurrency - 1] ?? 0) - task.createdAt)
    ends.push(endOf(task) ?? NEVER_MS)
    ends.sort((a, b) => b - a)
  }
}

/** The first step is the wait, if there is one. */
function setHold(task: SimulatedTask, forMs: number): void {
  if ('held' in task.behaviours) task.steps.shift()
  delete task.behaviours.held
  if (forMs <= 0) return
  task.behaviours.held = null
  task.steps.unshift({ phase: 'queued', says: THROTTLED, forMs: Math.min(forMs, NEVER_MS) })
}
