import { isTerminal } from '@holdfast/shared'
import type { Kept } from '../cache/kept.ts'
import type { Clock } from '../environment/clock.ts'
import type { TrackedTask } from '../store/merge-tasks.ts'

/** Where the page that works on it cannot be asked whether it lives. */
const CLAIM_MS = 60_000
/** Far more than the server's first answer brings up again. */
const REMEMBERED = 500

/** What the app does with a task that has ended; when it throws, it is tried again. */
export type SettleHandler = (task: TrackedTask) => unknown

interface InboxRecord {
  /** When this browser first synced for this user: what ended before is old news. */
  since: string
  done: Record<string, number>
  /** What could not be saved, kept until it can. */
  failed: Record<string, { task: TrackedTask; attempts: number }>
  claims: Record<string, { tabId: string; at: number }>
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
  kept: Kept
  key: string
  tabId: string
  clock: Clock
  session: AbortSignal
  /** Null when tabs cannot be asked. */
  isAlive: ((tabId: string) => Promise<boolean>) | null
  /** Decides who acts where nothing can be kept. */
  isLeader(): boolean
  known(): readonly TrackedTask[]
  onFailed(task: TrackedTask, error: unknown, attempts: number): void
}

/** At least once per browser, one tab at a time, by task id. */
export function createInbox(options: InboxOptions): Inbox {
  const { kept, key, tabId, clock, session } = options
  const handlers = new Set<SettleHandler>()
  const underWay = new Set<string>()
  let confirmed = false

  async function change(to: (record: InboxRecord) => InboxRecord | undefined) {
    let after: InboxRecord | undefined
    const durable = await kept.change(key, isRecord, (held) => {
      after = held && to(held)
      return after ?? held
    })
    return { after, durable }
  }

  /** True when it is ours to do now. */
  async function claim(task: TrackedTask, dead?: string): Promise<boolean> {
    let other: string | undefined
    const { after, durable } = await change((record) => {
      const { since, done, failed, claims } = record
      if (done[task.id] || (!failed[task.id] && isBefore(task.finishedAt, since))) return undefined
      const held = claims[task.id]
      if (held && held.tabId !== tabId && held.tabId !== dead) {
        const isOld = !options.isAlive && clock.now() - held.at > CLAIM_MS
        if (!isOld) {
          other = held.tabId
          return undefined
        }
      }
      return { ...record, claims: { ...claims, [task.id]: { tabId, at: clock.now() } } }
    })
    if (other !== undefined && options.isAlive && !(await options.isAlive(other))) return claim(task, other)
    return after !== undefined && (durable || options.isLeader())
  }

  async function work(task: TrackedTask) {
    if (!confirmed || handlers.size === 0 || underWay.has(task.id) || session.aborted) return
    underWay.add(task.id)
    try {
      if (!(await claim(task)) || session.aborted) return
      const problem = await run(task)
      let attempts = 0
      await change(
        ({ claims: { [task.id]: _, ...claims }, failed: { [task.id]: before, ...failed }, ...record }) => {
          attempts = (before?.attempts ?? 0) + 1
          if (problem) return { ...record, claims, failed: { ...failed, [task.id]: { task, attempts } } }
          const done = Object.entries({ ...record.done, [task.id]: clock.now() }).slice(-REMEMBERED)
          return { ...record, claims, failed, done: Object.fromEntries(done) }
        },
      )
      if (problem && !session.aborted) options.onFailed(task, problem.error, attempts)
    } finally {
      underWay.delete(task.id)
    }
  }

  async function run(task: TrackedTask): Promise<{ error: unknown } | null> {
    try {
      for (const handler of handlers) await handler(task)
      return null
    } catch (error) {
      return { error }
    }
  }

  const offer = (tasks: readonly TrackedTask[]) => {
    for (const task of tasks) if (isTerminal(task.status)) void work(task)
  }

  async function catchUp() {
    if (!confirmed || handlers.size === 0) return
    const record = await kept.read(key, isRecord)
    offer([...Object.values(record?.failed ?? {}).map(({ task }) => task), ...options.known()])
  }

  return {
    handle(handler) {
      handlers.add(handler)
      void catchUp()
      return () => handlers.delete(handler)
    },
    async confirm(at) {
      if (confirmed) return
      await kept.change(key, isRecord, (held) => held ?? { since: at, done: {}, failed: {}, claims: {} })
      confirmed = true
      await catchUp()
    },
    offer,
    async redo(task) {
      await change(({ done: { [task.id]: _, ...done }, ...record }) => ({
        ...record,
        done,
        // Also what ended before our time: the app asks for this one by name.
        failed: { ...record.failed, [task.id]: { task, attempts: record.failed[task.id]?.attempts ?? 0 } },
      }))
      await work(task)
    },
  }
}

function isRecord(value: unknown): value is InboxRecord {
  const record = value as Partial<InboxRecord> | null
  return (
    typeof record?.since === 'string' &&
    [record.done, record.failed, record.claims].every((part) => typeof part === 'object' && part !== null)
  )
}

/** In the same millisecond counts as after it: rather twice than never. */
function isBefore(finishedAt: string | null, since: string): boolean {
  return finishedAt === null || Date.parse(finishedAt) < Date.parse(since)
}
