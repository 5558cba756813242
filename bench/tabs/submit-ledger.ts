import type { Task } from '@holdfast/shared'
import type { Call } from './serve-page.ts'

/** One submit, and what happened to it as far as is known from outside. */
interface Entry {
  key: string
  prompt: string
  tab: string
  /** What `submit()` said; null: the page ended before it did, or said that nobody is signed in. */
  storage: 'durable' | 'memory' | null
  /** Only in memory, and its page ended: it may be gone with it. */
  mayBeLost: boolean
  /** From when until when a person discarded it. */
  discarded: { from: number; until: number } | null
  history: string[]
}

/** How long a request is on its way from the page to where it is counted. */
const ON_ITS_WAY_MS = 300

export interface Verdict {
  /** Kept, and never sent. */
  lost: string[]
  doubled: string[]
  /** Sent though it had been discarded before. */
  sentAfterDiscard: string[]
  /** Discarded when the server had it, or was about to get it, and its task goes on. */
  notCancelled: string[]
}

/** What was submitted and discarded, and in the end whether the server has what it should. */
export function createLedger() {
  const entries = new Map<string, Entry>()
  const began = Date.now()

  const note = (entry: Entry, what: string) =>
    entry.history.push(`${((Date.now() - began) / 1000).toFixed(2)} ${what}`)

  function judge(tasks: readonly Task[], calls: readonly Call[]): Verdict {
    const verdict: Verdict = { lost: [], doubled: [], sentAfterDiscard: [], notCancelled: [] }
    for (const entry of entries.values()) {
      const made = tasks.filter(({ placeholderId }) => placeholderId === entry.key)
      const sent = calls.filter(({ key, isForwarded }) => key === entry.key && isForwarded)
      const isKept = entry.storage === 'durable' || (entry.storage === 'memory' && !entry.mayBeLost)
      if (made.length > 1) verdict.doubled.push(entry.key)
      if (!entry.discarded && isKept && made.length === 0) verdict.lost.push(entry.key)
      if (entry.discarded && made[0]) {
        const { until } = entry.discarded
        if (!sent.some(({ at }) => at < until + ON_ITS_WAY_MS)) verdict.sentAfterDiscard.push(entry.key)
        // Of a discard that may not have been written nobody else knows.
        else if (until !== Number.POSITIVE_INFINITY && !isCancelled(made[0], calls)) {
          verdict.notCancelled.push(entry.key)
        }
      }
    }
    return verdict
  }

  return {
    judge,
    made(key: string, prompt: string, tab: string) {
      const entry: Entry = {
        key,
        prompt,
        tab,
        storage: null,
        mayBeLost: false,
        discarded: null,
        history: [],
      }
      note(entry, `submitted in ${tab}`)
      entries.set(key, entry)
    },
    kept(key: string, storage: 'durable' | 'memory') {
      const entry = entries.get(key)
      if (!entry) return
      entry.storage = storage
      note(entry, storage)
    },
    /** The page of a tab, or of all with null, has ended or nobody is signed in to it any more. */
    ended(tab: string | null, how: string) {
      for (const entry of entries.values()) {
        if (tab !== null && entry.tab !== tab) continue
        note(entry, `${how} ${tab ?? ''}`)
        entry.mayBeLost = true
      }
    },
    /** `until` is null when the page did not say that it had done so. */
    discarded(key: string, tab: string, from: number, until: number | null) {
      const entry = entries.get(key)
      if (!entry) return
      entry.discarded = { from, until: until ?? Number.POSITIVE_INFINITY }
      note(entry, `discarded in ${tab}${until === null ? ', perhaps' : ''}`)
    },
    counts() {
      const all = [...entries.values()]
      return {
        inMemory: all.filter(({ storage }) => storage === 'memory').length,
        discarded: all.filter(({ discarded }) => discarded).length,
      }
    },
    /** What is known of one, for people. */
    tell(key: string, calls: readonly Call[]): string[] {
      const entry = entries.get(key)
      const sent = calls
        .filter((call) => call.key === key)
        .map(
          (call) =>
            `${((call.at - began) / 1000).toFixed(2)} request by ${call.tab}, ${call.isForwarded ? 'forwarded' : 'refused'}, ${call.isAnswered ? 'answered' : 'cut'}`,
        )
      return [`${entry?.prompt} ${key}`, ...(entry?.history ?? []), ...sent]
    },
  }
}

function isCancelled({ id, status }: Task, calls: readonly Call[]): boolean {
  // One that had ended by then cannot be cancelled any more.
  return status === 'cancelled' || calls.some(({ path }) => path === `/v1/tasks/${id}/cancel`)
}
