import { isTerminal } from '@holdfast/shared'
import type { KeptRecord } from '../cache/kept.ts'
import type { Clock } from '../environment/clock.ts'
import { isObject } from '../environment/items.ts'
import type { TrackedTask } from '../store/merge-tasks.ts'

/** Far more than the server's first answer brings up again. */
const REMEMBERED = 500

/** What the app does with a task that has ended; when it throws, it is tried again. */
export type SettleHandler = (task: TrackedTask) => unknown

interface Entry {
  /** Who works on it, since when. An empty name: nobody. */
  tabId: string
  at: number
  isDone: boolean
  attempts: number
  /** What could not be saved, kept until it can. */
  task: TrackedTask | null
}

interface InboxRecord {
  /** When this browser first synced for this user: what ended before is old news. */
  since: string
  entries: Record<string, Entry>
}

export interface Inbox {
  /** Returns the undo. What is due is handed over at once. */
  handle(handler: SettleHandler): () => void
  /** The server has confirmed what there is, at this time by its clock. */
  confirm(at: string): Promise<void>
  /** Tasks that may have ended. */
  offer(tasks: readonly TrackedTask[]): void
  /** Once more, whatever came of it before. */
  redo(task: TrackedTask): Promise<void>
}

export interface InboxOptions {
  record: KeptRecord<InboxRecord>
  tabId: string
  clock: Clock
  session: AbortSignal
  /** Whether a page that has claimed something is still there. */
  isAlive(tabId: string, since: number): Promise<boolean>
  /** Decides who acts where nothing can be kept. */
  isLeader(): boolean
  known(): readonly TrackedTask[]
  onFailed(task: TrackedTask, error: unknown, attempts: number): void
}

/** At least once per browser, one tab at a time, by task id. */
export function createInbox(options: InboxOptions): Inbox {
  const { record, tabId, clock, session } = options
  const handlers = new Set<SettleHandler>()
  const underWay = new Set<string>()
  let confirmed = false

  /** One transaction over one entry; undefined leaves it as it is. */
  const change = (id: string, to: (entry: Entry | undefined, since: string) => Entry | undefined) =>
    record.change((held) => {
      const after = held && to(held.entries[id], held.since)
      if (!after) return held
      const { [id]: _, ...entries } = held.entries
      const all = Object.entries({ ...entries, [id]: after })
      // Only what is done may be forgotten.
      const kept = all.filter(([, { isDone }], index) => !isDone || all.length - index <= REMEMBERED)
      return { ...held, entries: Object.fromEntries(kept) }
    })

  /** How often it was tried, when it is ours to do now, else null. */
  async function claim(task: TrackedTask, dead?: string): Promise<number | null> {
    let attempts: number | null = null
    let other: Entry | undefined
    const durable = await change(task.id, (entry, since) => {
      if (entry ? entry.isDone : isBefore(task.finishedAt, since)) return undefined
      if (entry?.tabId && entry.tabId !== tabId && entry.tabId !== dead) {
        other = entry
        return undefined
      }
      attempts = entry?.attempts ?? 0
      return { tabId, at: clock.now(), isDone: false, attempts, task: entry?.task ?? null }
    })
    if (other && !(await options.isAlive(other.tabId, other.at))) return claim(task, other.tabId)
    return durable || options.isLeader() ? attempts : null
  }

  async function work(task: TrackedTask) {
    if (!confirmed || handlers.size === 0 || underWay.has(task.id) || session.aborted) return
    underWay.add(task.id)
    try {
      const before = await claim(task)
      if (before === null || session.aborted) return
      const attempts = before + 1
      let problem: { error: unknown } | undefined
      try {
        for (const handler of handlers) await handler(task)
      } catch (error) {
        problem = { error }
      }
      const entry = { tabId: '', at: clock.now(), isDone: !problem, attempts, task: problem ? task : null }
      await change(task.id, () => entry)
      if (problem && !session.aborted) options.onFailed(task, problem.error, attempts)
    } finally {
      underWay.delete(task.id)
    }
  }

  const offer = (tasks: readonly (TrackedTask | null)[]) => {
    for (const task of tasks) if (task && isTerminal(task.status)) void work(task)
  }

  async function catchUp() {
    if (!confirmed || handlers.size === 0) return
    const held = await record.read()
    offer([...Object.values(held?.entries ?? {}).map(({ task }) => task), ...options.known()])
  }

  return {
    handle(handler) {
      handlers.add(handler)
      void catchUp()
      return () => handlers.delete(handler)
    },
    async confirm(since) {
      if (confirmed) return
      await record.change((held) => held ?? { since, entries: {} })
      confirmed = true
      await catchUp()
    },
    offer,
    async redo(task) {
      // Also what ended before our time: the app asks for this one by name.
      await change(task.id, (entry) => ({ tabId: '', at: 0, attempts: 0, ...entry, isDone: false, task }))
      await work(task)
    },
  }
}

export function isInboxRecord(value: unknown): value is InboxRecord {
  return isObject(value) && typeof value.since === 'string' && isObject(value.entries)
}

/** In the same millisecond counts as after it: rather twice than never. */
function isBefore(finishedAt: string | null, since: string): boolean {
  return finishedAt === null || Date.parse(finishedAt) < Date.parse(since)
}
