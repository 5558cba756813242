import { isTerminal } from '@holdfast/shared'
import type { Clock } from '../environment/clock.ts'
import { type Items, readJson } from '../environment/items.ts'
import type { TaskMap, TrackedTask } from '../store/merge-tasks.ts'
import type { Keep } from './kept.ts'

/** Raise it when the stored shape changes: an older copy is discarded, the server has the truth. */
const SCHEMA = 2
/** Progress may change many times a second; one write for all of it. */
const WRITE_AFTER_MS = 250
/** What the server's first answer covers as well. */
const KEEP_ENDED_MS = 24 * 60 * 60 * 1_000
const KEEP_ENDED = 100
/**
 * What is shorter is in localStorage as well, which answers at once where a database takes as long as everything else
 * before the first paint. A fiftieth of the room there is for the whole origin. Each write is sent to every tab, so that
 * more than this is only written there when the page goes.
 */
const SMALL_LENGTH = 100_000
const LARGE_LENGTH = 1_000_000

/** One user's tasks, kept in this browser so that the next visit can paint before the network answers. */
export interface LocalCopy {
  /** Undefined: there is none, or it cannot be used. */
  read(): Promise<TrackedTask[] | undefined>
  /** Written a moment later. */
  save(tasks: TaskMap): void
  /** Writes at once what waits to be written; `last`: for the next page to find. */
  flush(last?: boolean): Promise<void>
  purge(): Promise<void>
}

interface StoredCopy {
  schema: typeof SCHEMA
  tasks: TrackedTask[]
}

export function createLocalCopy(keep: Keep, items: Items, key: string, clock: Clock): LocalCopy {
  const record = keep(key, isStoredCopy)
  let waiting: TaskMap | undefined
  let callOff: (() => void) | undefined

  function drop() {
    callOff?.()
    callOff = undefined
    waiting = undefined
    // Also when a new one follows: should that not fit, an old one is worse than none.
    items.set(key, null)
  }

  async function flush(last?: boolean) {
    if (!waiting) return
    const copy: StoredCopy = { schema: SCHEMA, tasks: worthKeeping(waiting, clock.now()) }
    drop()
    const text = JSON.stringify(copy)
    if (text.length < (last ? LARGE_LENGTH : SMALL_LENGTH)) items.set(key, text)
    await record.change(() => copy)
  }

  return {
    async read() {
      const held = readJson(items, key)
      return (isStoredCopy(held) ? held : await record.read())?.tasks
    },
    save(tasks) {
      waiting = tasks
      callOff ??= clock.after(WRITE_AFTER_MS, () => void flush())
    },
    flush,
    async purge() {
      drop()
      await record.drop()
    },
  }
}

function isStoredCopy(copy: unknown): copy is StoredCopy {
  const held = copy as Partial<StoredCopy> | null | undefined
  return held?.schema === SCHEMA && Array.isArray(held.tasks) && held.tasks.every((task) => task?.id)
}

/** Only what the next visit paints: unfinished tasks, and those that ended lately. */
function worthKeeping(tasks: TaskMap, now: number): TrackedTask[] {
  const all = Object.values(tasks)
  const endedAt = (task: TrackedTask) => Date.parse(task.finishedAt ?? task.updatedAt)
  const ended = all
    .filter((task) => isTerminal(task.status) && now - endedAt(task) < KEEP_ENDED_MS)
    .sort((a, b) => endedAt(b) - endedAt(a))
    .slice(0, KEEP_ENDED)
  return [...all.filter((task) => !isTerminal(task.status)), ...ended]
}
