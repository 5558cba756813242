import { isObject } from '../environment/items.ts'
import { shortName } from '../environment/short-name.ts'
import type { TrackedTask } from '../store/merge-tasks.ts'

/** Far more than the server's first answer brings up again. */
const REMEMBERED = 500

/** What this browser knows of the handing over of one task. */
export interface InboxEntry {
  /** Who works on it, since when. An empty name: nobody. */
  tabId: string
  at: number
  isDone: boolean
  attempts: number
  /** Kept until it is done: the server may have forgotten it when somebody tries again. */
  task: TrackedTask | null
}

export interface InboxRecord {
  /** When this browser first synced for this user: what ended before is old news. */
  since: string
  /** By the short name of the task: done ones outlive a log-out. */
  entries: Record<string, InboxEntry>
}

/** Whether this release can read it. Others' fields are kept, and so is a record of another shape. */
export function isReadable(record: unknown): record is InboxRecord {
  return isObject(record) && typeof record.since === 'string' && isObject(record.entries)
}

export interface Wanted {
  task: TrackedTask
  /** A tab that is known to be gone: what it has claimed is free. */
  gone?: string
}

/** `mine`: this tab hands it over now. `theirs`: another does, if it is still there. `over`: nothing is left to do. */
export type Verdict =
  | { kind: 'mine'; attempts: number }
  | { kind: 'theirs'; tabId: string; at: number }
  | { kind: 'over' }

export function judge(
  { task, gone }: Wanted,
  entry: InboxEntry | undefined,
  since: string,
  tabId: string,
): Verdict {
  // An entry that says nothing of being done is a later release's, which knows better.
  const isOver = entry ? entry.isDone !== false : isBefore(task.finishedAt, since)
  if (isOver) return { kind: 'over' }
  const holder = entry?.tabId
  if (holder && holder !== tabId && holder !== gone) return { kind: 'theirs', tabId: holder, at: entry.at }
  return { kind: 'mine', attempts: entry?.attempts ?? 0 }
}

/** In the same millisecond counts as after it: rather twice than never. */
function isBefore(finishedAt: string | null, since: string): boolean {
  return finishedAt === null || Date.parse(finishedAt) < Date.parse(since)
}

/** Claims all that is free for this tab, and says what became of each, in the same order. */
export function claimAll(record: InboxRecord, wanted: readonly Wanted[], tabId: string, at: number) {
  const entries = { ...record.entries }
  const verdicts = wanted.map((want) => {
    const { task } = want
    const name = shortName(task.id)
    const verdict = judge(want, entries[name], record.since, tabId)
    if (verdict.kind === 'mine') {
      const { attempts } = verdict
      entries[name] = { ...entries[name], tabId, at, isDone: false, attempts, task }
    }
    return verdict
  })
  return { record: { ...record, entries }, verdicts }
}

export interface Ended {
  task: TrackedTask
  attempts: number
  failed: boolean
}

/** Writes down how it went. Done stays done, and a failure does not take it away from a tab that took over. */
export function endAll(record: InboxRecord, ended: readonly Ended[], tabId: string, at: number): InboxRecord {
  const entries = { ...record.entries }
  for (const { task, attempts, failed } of ended) {
    const name = shortName(task.id)
    const entry = entries[name]
    if (entry?.isDone || (failed && entry && entry.tabId !== tabId)) continue
    // Taken out first, so that the oldest come first.
    delete entries[name]
    entries[name] = { ...entry, tabId: '', at, isDone: !failed, attempts, task: failed ? task : null }
  }
  const all = Object.entries(entries)
  // Only what is done may be forgotten.
  const kept = all.filter(([, { isDone }], index) => !isDone || all.length - index <= REMEMBERED)
  return { ...record, entries: Object.fromEntries(kept) }
}
