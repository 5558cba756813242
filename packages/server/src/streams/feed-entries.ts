import { isNewer, isTerminal, nameStatus, type Task, type TaskChange } from '@holdfast/shared'

/** The newest state of one task, and when parts of it last changed, counted in changes of the whole feed. */
interface Entry {
  id: string
  status: Task['status']
  progress: number | null
  version: number
  startedAt: string | null
  /** Null once it has ended and every stream has been told. */
  task: Task | null
  seq: number
  statusSeq: number
  progressSeq: number
  /** Whoever resumes from here hears of this state again. */
  resumeAt: string
}

export interface Chunk {
  bytes: Uint8Array
  /** Whoever has these bytes has everything up to here. */
  seq: number
}

/**
 * What a user's streams are told, without the streams: each of them is only a number, the last change that it has been
 * sent. What it has missed is the newest state of every task that changed since, never a queue of old ones.
 */
export interface FeedEntries {
  /** How many changes there were. */
  readonly seq: number
  /** Takes in states that were read from the database by a reader that had seen everything before `resumeAt`. */
  absorb(tasks: readonly Task[], resumeAt: string): void
  /** Takes in progress that is only hot. */
  raise(hot: ReadonlyMap<string, number>, resumeAt: string): void
  /** The same state, or what is known to be further. */
  newest(task: Task): Task
  /** What is known already of what was read last: such rows need not be read again. */
  known(ids: Iterable<string>): Record<string, [version: number, progress: number | null]>
  /** The events after a change, as far as they fit into one piece; null if there are none. `cursor`: where it all ends. */
  after(seq: number, cursor: string): Chunk | null
  /** All streams have this change: what only served to tell them of it can go. */
  trim(seq: number): void
}

const encoder = new TextEncoder()
/** Of ended tasks only the outline is kept, to name what still happens to them, and not of endlessly many. */
const MOST_ENDED = 500
/** A slow reader is given no more than this at a time: what it is sent cannot be taken back when it gets old. */
const CHUNK_CHARACTERS = 64 * 1024

export function createFeedEntries(): FeedEntries {
  const entries = new Map<string, Entry>()
  /** In the order of their changes; what has changed again since stands there twice, and only the last counts. */
  let changes: { seq: number; entry: Entry }[] = []
  const ended = new Set<string>()
  let chunks = new Map<number, Chunk>()
  let seq = 0

  function touch(entry: Entry): void {
    entry.seq = ++seq
    changes.push({ seq, entry })
    if (changes.length > 2 * entries.size + 64) changes = changes.filter(isLatest)
    chunks = new Map()
  }

  function add(task: Task, resumeAt: string): void {
    const { id, status, progress, version, startedAt } = task
    const next = seq + 1
    const entry: Entry = {
      id,
      status,
      progress,
      version,
      startedAt,
      task,
      seq: next,
      statusSeq: next,
      progressSeq: next,
      resumeAt,
    }
    entries.set(id, entry)
    touch(entry)
  }

  function update(entry: Entry, incoming: Task, resumeAt: string): void {
    const task = notBehind(entry, incoming)
    const isSilent = isOnlyBookkeeping(entry, task)
    entry.version = task.version
    entry.task = task
    if (isSilent) {
      chunks = new Map()
      return
    }
    if (entry.status !== task.status) entry.statusSeq = seq + 1
    if (entry.progress !== task.progress) entry.progressSeq = seq + 1
    entry.status = task.status
    entry.progress = task.progress
    entry.startedAt = task.startedAt
    entry.resumeAt = resumeAt
    touch(entry)
  }

  function noteEnded(entry: Entry): void {
    if (!isTerminal(entry.status)) {
      ended.delete(entry.id)
      return
    }
    ended.add(entry.id)
    for (const id of ended) {
      if (ended.size <= MOST_ENDED) return
      // One that is still to be told stays reachable by its change.
      ended.delete(id)
      entries.delete(id)
    }
  }

  return {
    get seq() {
      return seq
    },
    absorb(tasks, resumeAt) {
      for (const task of tasks) {
        const entry = entries.get(task.id)
        if (!entry) add(task, resumeAt)
        else if (isNewer(task, entry)) update(entry, task, resumeAt)
        const present = entries.get(task.id)
        if (present) noteEnded(present)
      }
    },
    raise(hot, resumeAt) {
      for (const [id, progress] of hot) {
        const entry = entries.get(id)
        if (!entry?.task || entry.status !== 'running' || progress <= (entry.progress ?? -1)) continue
        update(entry, { ...entry.task, progress }, resumeAt)
      }
    },
    newest(task) {
      const entry = entries.get(task.id)
      if (!entry) return task
      return entry.task && isNewer(entry, task) ? entry.task : notBehind(entry, task)
    },
    known(ids) {
      const known: Record<string, [number, number | null]> = {}
      for (const id of ids) {
        const entry = entries.get(id)
        if (entry) known[id] = [entry.version, entry.progress]
      }
      return known
    },
    after(from, cursor) {
      if (from >= seq) return null
      const made = chunks.get(from)
      if (made) return made
      const news = changes.slice(firstAfter(changes, from)).filter(isLatest)
      let text = ''
      let until = seq
      for (const [index, { entry }] of news.entries()) {
        const following = news[index + 1]?.entry
        // Only the last carries the cursor: whoever is cut off before it resumes with the rest.
        text += toEvent(entry, from, following?.resumeAt ?? cursor)
        if (!following || text.length < CHUNK_CHARACTERS) continue
        until = entry.seq
        break
      }
      const chunk = { bytes: encoder.encode(text), seq: until }
      chunks.set(from, chunk)
      return chunk
    },
    trim(until) {
      if (changes.length === 0) return
      const left = firstAfter(changes, until)
      for (const { entry } of changes.slice(0, left)) {
        if (entry.seq <= until && isTerminal(entry.status)) entry.task = null
      }
      changes = changes.slice(left)
      if (changes.length === 0) chunks = new Map()
    },
  }
}

function isLatest({ seq, entry }: { seq: number; entry: Entry }): boolean {
  return entry.seq === seq
}

/** The row may know less of the progress than we have shown, as when the hot store lost it: it never goes back. */
function notBehind(entry: Entry, task: Task): Task {
  const isSameRun =
    entry.status === 'running' && task.status === 'running' && entry.startedAt === task.startedAt
  return isSameRun && (entry.progress ?? -1) > (task.progress ?? -1)
    ? { ...task, progress: entry.progress }
    : task
}

/** Progress that was shown already and has now been written down: nobody needs to be told of that. */
function isOnlyBookkeeping(entry: Entry, task: Task): boolean {
  if (!entry.task || task.status !== 'running') return false
  if (entry.status !== 'running' || entry.progress !== task.progress) return false
  const { version, updatedAt, estimatedAt } = task
  return JSON.stringify({ ...entry.task, version, updatedAt, estimatedAt }) === JSON.stringify(task)
}

/** By what the receiver can tell, who has been told of everything up to `from`. */
function nameFor({ status, statusSeq, progressSeq, task }: Entry, from: number): TaskChange {
  if (statusSeq > from) return nameStatus(status, task?.failure?.deadLettered === true)
  return progressSeq > from ? 'progress' : 'updated'
}

function toEvent(entry: Entry, from: number, id: string): string {
  return `event: task\ndata: ${JSON.stringify({ task: entry.task, change: nameFor(entry, from) })}\nid: ${id}\n\n`
}

/** The index of the first change after `seq`. */
function firstAfter(changes: readonly { seq: number }[], seq: number): number {
  let low = 0
  let high = changes.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((changes[middle]?.seq ?? 0) <= seq) low = middle + 1
    else high = middle
  }
  return low
}
