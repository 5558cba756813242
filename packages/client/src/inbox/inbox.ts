import { isTerminal } from '@holdfast/shared'
import type { KeptRecord } from '../cache/kept.ts'
import type { Clock } from '../environment/clock.ts'
import { isObject } from '../environment/items.ts'
import { shortName } from '../environment/short-name.ts'
import type { TrackedTask } from '../store/merge-tasks.ts'
import { createBatcher } from './create-batcher.ts'
import { claimAll, type Ended, endAll, type InboxRecord, isReadable, type Wanted } from './inbox-record.ts'

/** What the app does with a task that has ended; when it throws, it is tried again. */
export type SettleHandler = (task: TrackedTask) => unknown

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
  record: KeptRecord<object>
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

/**
 * At least once per browser, one tab at a time, by task id. A task is claimed before the handlers run and marked as done
 * after, so that a page which dies in between leaves it to the next. Claims and outcomes are written in batches, since
 * each write is the whole record.
 */
export function createInbox(options: InboxOptions): Inbox {
  const { record, tabId, clock, session } = options
  const handlers = new Set<SettleHandler>()
  const underWay = new Set<string>()
  /** What is known to need no more looking up. */
  const over = new Set<string>()
  const pings = new Map<string, Promise<boolean>>()
  /** As last written: for a disk that has failed since, and a record that only a later release can read. */
  let mine: InboxRecord | undefined
  let confirming: Promise<void> | undefined
  let isConfirmed = false

  /** One transaction; true when it is on disk. */
  async function change(to: (held: InboxRecord | undefined) => InboxRecord | undefined): Promise<boolean> {
    let isOthers = false
    const durable = await record.change((held) => {
      isOthers = held !== undefined && !isReadable(held)
      // Once signed out, what has been forgotten stays so.
      mine = to(isReadable(held) ? held : session.aborted ? undefined : mine)
      return isOthers ? held : mine
    })
    return durable && !isOthers
  }

  const claims = createBatcher(async (wanted: Wanted[]) => {
    let made: ReturnType<typeof claimAll> | undefined
    const durable = await change((held) => {
      made = held && claimAll(held, wanted, tabId, clock.now())
      return made?.record
    })
    return (durable || options.isLeader()) && made ? made.verdicts : []
  })

  const endings = createBatcher(async (ended: Ended[]) => {
    await change((held) => held && endAll(held, ended, tabId, clock.now()))
    return []
  })

  /** Asked once, however many tasks it holds. */
  function isAlive(holder: string, since: number): Promise<boolean> {
    const asked = pings.get(holder) ?? options.isAlive(holder, since).finally(() => pings.delete(holder))
    pings.set(holder, asked)
    return asked
  }

  /** How often it was tried, when it is ours to do now, else null. */
  async function claim(task: TrackedTask, gone?: string): Promise<number | null> {
    const verdict = await claims({ task, gone })
    if (verdict?.kind === 'mine') return verdict.attempts
    if (verdict?.kind === 'over') over.add(task.id)
    if (verdict?.kind !== 'theirs' || (await isAlive(verdict.tabId, verdict.at))) return null
    return claim(task, verdict.tabId)
  }

  async function work(task: TrackedTask) {
    const { id } = task
    if (!isConfirmed || handlers.size === 0 || underWay.has(id) || over.has(id) || session.aborted) return
    underWay.add(id)
    try {
      const before = await claim(task)
      if (before === null || session.aborted) return
      const attempts = before + 1
      let problem: { error: unknown } | undefined
      try {
        for (const handler of handlers) await handler(task)
        over.add(id)
      } catch (error) {
        problem = { error }
      }
      await endings({ task, attempts, failed: problem !== undefined })
      if (problem && !session.aborted) options.onFailed(task, problem.error, attempts)
    } finally {
      underWay.delete(id)
    }
  }

  const offer = (tasks: readonly TrackedTask[]) => {
    for (const task of tasks) if (isTerminal(task.status)) void work(task)
  }

  /** What is known here, and what was left undone: its states are older. */
  function catchUp(held: unknown) {
    const entries = isReadable(held) ? Object.values(held.entries) : []
    offer([...options.known(), ...entries.flatMap(({ task, isDone }) => (task && !isDone ? [task] : []))])
  }

  return {
    handle(handler) {
      handlers.add(handler)
      if (isConfirmed) void record.read().then(catchUp)
      return () => handlers.delete(handler)
    },
    confirm(since) {
      confirming ??= change((held) => held ?? { since, entries: {} }).then(() => {
        isConfirmed = true
        catchUp(mine)
      })
      return confirming
    },
    offer,
    async redo(task) {
      over.delete(task.id)
      // Also what ended before our time: the app asks for this one by name.
      await change((held) => {
        if (!held) return held
        const name = shortName(task.id)
        const entry = { tabId: '', at: 0, attempts: 0, ...held.entries[name], isDone: false, task }
        return { ...held, entries: { ...held.entries, [name]: entry } }
      })
      await work(task)
    },
  }
}

/** What it is written as may be a later release's. */
export const isInboxRecord = (value: unknown): value is object => isObject(value)
