import { createStore } from 'zustand/vanilla'
import type { Health } from '../cache/kept.ts'
import type { Origins } from '../placeholders/origin.ts'
import { type IncomingTask, type Merged, mergeTasks, type TaskMap, type TrackedTask } from './merge-tasks.ts'

/** Everything the client knows, as one immutable value. */
export interface ClientState extends Health {
  userId: string | null
  /** signed-out → loading → from-cache (painted, maybe stale) → confirmed (the server said so) */
  restore: 'signed-out' | 'loading' | 'from-cache' | 'confirmed'
  /** How news arrives: pushed, asked for, through the leading tab, or not at all for now. */
  connection: 'push' | 'polling' | 'follower' | 'offline'
  role: 'leader' | 'follower'
  tasks: TaskMap
  /** What waits in the outbox to be sent, by idempotency key. */
  unsent: TaskMap
  tabId: string
  /** Server clock minus local clock, in milliseconds. */
  clockOffset: number
}

export interface ReadonlyStore {
  getState(): ClientState
  /** The same on every machine, so that server rendering and hydration agree. */
  getInitialState(): ClientState
  subscribe(listener: (state: ClientState, previous: ClientState) => void): () => void
}

/** News about tasks, from wherever. */
export interface TaskNews {
  tasks: IncomingTask[]
  /** Ids that do not exist for this user. */
  gone?: string[]
  /** The server has answered for everything held here: nothing is stale any more. */
  confirmed?: boolean
  /** Whether `tasks` is all there is: what is stale here and not among them is dropped. */
  complete?: boolean
}

export interface TaskStore extends ReadonlyStore {
  set(partial: Partial<Omit<ClientState, 'tasks' | 'unsent'>>): void
  apply(news: TaskNews, origins: Pick<Origins, 'of'>): Pick<Merged, 'changed' | 'ended'>
  setUnsent(drafts: readonly TrackedTask[]): void
  /** Back to signed out, nothing of the old user left. */
  reset(): void
}

const SIGNED_OUT: ClientState = {
  userId: null,
  restore: 'signed-out',
  connection: 'offline',
  role: 'follower',
  storage: 'memory',
  storageProblem: null,
  tasks: {},
  unsent: {},
  tabId: '',
  clockOffset: 0,
}

export function createTaskStore(): TaskStore {
  const store = createStore<ClientState>(() => SIGNED_OUT)
  const { getState, setState } = store

  return {
    ...store,

    set(partial) {
      const keys = Object.keys(partial) as (keyof typeof partial)[]
      if (keys.some((key) => getState()[key] !== partial[key])) setState(partial)
    },

    apply({ tasks: incoming, gone = [], confirmed, complete }, origins) {
      const before = getState()
      const merged = mergeTasks(before.tasks, incoming, origins)
      let { tasks } = merged
      const named = new Set(incoming.map((task) => task.id))
      // Not by Object.fromEntries, which takes twenty times as long for a thousand tasks.
      const kept: Record<string, TrackedTask> = {}
      for (const task of confirmed || gone[0] ? Object.values(merged.tasks) : []) {
        const isRenewed = confirmed && task.stale
        const isGone = gone.includes(task.id) || (isRenewed && complete && !named.has(task.id))
        if (!isGone) kept[task.id] = isRenewed ? { ...task, stale: false } : task
        // A map that is the same stays the same: a tab that polls hears of nothing new every two seconds.
        if (isGone || isRenewed) tasks = kept
      }
      const restore = confirmed ? 'confirmed' : before.restore
      if (tasks !== before.tasks || restore !== before.restore) setState({ tasks, restore })
      return merged
    },

    setUnsent(drafts) {
      const { unsent } = getState()
      const isSame = (draft: TrackedTask) => unsent[draft.id]?.status === draft.status
      if (drafts.length === Object.keys(unsent).length && drafts.every(isSame)) return
      setState({ unsent: Object.fromEntries(drafts.map((draft) => [draft.id, draft])) })
    },

    reset() {
      setState({ ...SIGNED_OUT, tabId: getState().tabId }, true)
    },
  }
}
