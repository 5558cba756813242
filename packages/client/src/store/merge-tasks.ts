import { isNewer, isTerminal, type Task } from '@holdfast/shared'
import type { Waiting } from '../outbox/intent.ts'
import type { Origin, Origins } from '../placeholders/origin.ts'
import { addressesEnd } from './addresses-end.ts'

/** A task as this browser holds it. */
export interface TrackedTask extends Task {
  origin: Origin
  /** From the local copy, not yet confirmed by the server. */
  stale: boolean
  /** Only an intent so far, still in the outbox: its id is the idempotency key, and the server knows nothing of it. */
  unsent?: boolean
  /** Why an unsent one is not sent at this moment; null before the first try and while it is being sent. */
  waiting?: Waiting | null
}

export type TaskMap = Readonly<Record<string, TrackedTask>>

/** A task as it arrives: bare from the server, tracked from another tab or the local copy. */
export type IncomingTask = Task & Partial<Pick<TrackedTask, 'origin' | 'stale'>>

export interface Merged {
  tasks: TaskMap
  changed: TrackedTask[]
  /** Held as unfinished before, finished now. */
  ended: TrackedTask[]
}

/**
 * The state-based merge: whatever the order and however often states arrive, the result is the same. A state is
 * stale until somebody confirms that very state or brings a newer one. The addresses of files are signed anew for
 * every answer and belong to no state: those that work longest stay.
 */
export function mergeTasks(
  held: TaskMap,
  incoming: Iterable<IncomingTask>,
  origins: Pick<Origins, 'of'>,
): Merged {
  let tasks = held as Record<string, TrackedTask>
  const changed = new Map<string, TrackedTask>()
  const ended: TrackedTask[] = []

  for (const task of incoming) {
    const before = tasks[task.id]
    const origin = origins.of(task)
    const stale = task.stale === true
    let after: TrackedTask
    if (!before || isNewer(task, before)) {
      after = { ...task, origin, stale }
    } else {
      const same = !isNewer(before, task)
      const renewed = same && addressesEnd(task) > addressesEnd(before)
      after = { ...(renewed ? task : before), origin, stale: before.stale && (stale || !same) }
      if (!renewed && after.origin === before.origin && after.stale === before.stale) continue
    }
    // Only what changes is copied, and not by `{ ...held }`, which takes ten times as long for a thousand tasks.
    if (tasks === held) tasks = Object.assign({}, held)
    tasks[task.id] = after
    changed.set(task.id, after)
    if (before && !isTerminal(before.status) && isTerminal(after.status)) ended.push(after)
  }

  return { tasks, changed: [...changed.values()], ended }
}
