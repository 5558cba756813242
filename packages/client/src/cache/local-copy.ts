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
  /** Nothing more is written. */
  stop(): void
  /** Writes at once what waits to be written; `last`: for the next page to find. */
  flush(last?: boolean): Promise<void>
  /** Deletes it. With the mark of a log-out, no page that began before that log-out writes it again. */
  purge(mark?: string): Promise<void>
  /** Whether nobody has signed the user out since this page first looked at the disk. */
  stands(): Promise<boolean>
}

interface StoredCopy {
  schema: typeof SCHEMA
  /** The log-out after which it was written; it stays when the tasks go. */
  signedOut?: string
  tasks: TrackedTask[] | null
}

export interface LocalCopyOptions {
  keep: Keep
  items: Items
  key: string
  clock: Clock
  /** False once the user has signed out, in whichever tab. */
  mayWrite(): boolean
}

export function createLocalCopy({ keep, items, key, clock, mayWrite }: LocalCopyOptions): LocalCopy {
  const record = keep(key, isStoredCopy, { isWhole: true })
  /** The mark on disk as this page first found it: another one is a log-out. Undefined until then. */
  let mark: string | null | undefined
  let waiting: TaskMap | undefined
  let callOff: (() => void) | undefined

  function stop() {
    callOff?.()
    callOff = undefined
    waiting = undefined
  }

  function drop() {
    stop()
    // Also when a new one follows: should that not fit, an old one is worse than none.
    items.set(key, null)
  }

  function isOurs(held: StoredCopy | undefined): boolean {
    const found = held?.signedOut ?? null
    if (mark === undefined) mark = found
    return mark === found
  }

  /** Replaces what is on disk, unless the user has signed out since. */
  const put = (tasks: TrackedTask[] | null) =>
    record.change((held) =>
      isOurs(held) ? { schema: SCHEMA, ...(mark && { signedOut: mark }), tasks } : held,
    )

  async function flush(last?: boolean) {
    if (!waiting) return
    const tasks = worthKeeping(waiting, clock.now())
    if (!mayWrite()) return stop()
    drop()
    const text = JSON.stringify({ schema: SCHEMA, tasks })
    if (text.length < (last ? LARGE_LENGTH : SMALL_LENGTH)) items.set(key, text)
    // A page that is put away in the middle of a write to the database holds up all other pages until it comes back.
    if (!last || items.get(key) !== text) await put(tasks)
  }

  return {
    async read() {
      const atHand = readJson(items, key)
      if (isStoredCopy(atHand)) return atHand.tasks ?? undefined
      const held = await record.read()
      isOurs(held)
      return held?.tasks ?? undefined
    },
    save(tasks) {
      waiting = tasks
      callOff ??= clock.after(WRITE_AFTER_MS, () => void flush())
    },
    stop,
    flush,
    async purge(signedOut) {
      drop()
      if (signedOut === undefined) await put(null)
      else await record.change(() => ({ schema: SCHEMA, signedOut, tasks: null }))
    },
    stands: async () => isOurs(await record.read()),
  }
}

function isStoredCopy(copy: unknown): copy is StoredCopy {
  const held = copy as Partial<StoredCopy> | null | undefined
  if (held?.schema !== SCHEMA) return false
  return held.tasks === null || (Array.isArray(held.tasks) && held.tasks.every((task) => task?.id))
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
