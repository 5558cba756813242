import type { Conversation } from '@holdfast/shared'
import { createStore } from 'zustand/vanilla'
import type { Health } from '../cache/kept.ts'
import type { Origins } from '../placeholders/origin.ts'
import { type ConversationMap, mergeConversations } from './merge-conversations.ts'
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
  /** Conversations by id: those with the newest activity, the unread ones, and what was heard of since. */
  conversations: ConversationMap
  /** How many of all conversations are unread; null until it is known. */
  unreadConversations: number | null
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

/** News about tasks: from the server, or from another tab. */
export interface TaskNews {
  tasks: IncomingTask[]
  /** Ids that do not exist for this user. */
  gone?: string[]
  /** The server has answered for everything held here: nothing is stale any more. */
  confirmed?: boolean
  /** Whether `tasks` is all there is: what is stale here and not among them is dropped. */
  complete?: boolean
}

/** News about conversations: from the server, or from another tab. */
export interface ConversationNews {
  conversations?: readonly Conversation[] | undefined
  /** How many of all are unread, as far as the sender knows. */
  unreadConversations?: number | null | undefined
}

export interface TaskStore extends ReadonlyStore {
  set(partial: Partial<Omit<ClientState, 'tasks' | 'unsent'>>): void
  apply(news: TaskNews, origins: Pick<Origins, 'of'>): Pick<Merged, 'changed' | 'ended'>
  /** `whole`: not only what changed, but all that a first answer brings. Returns what was new. */
  applyConversations(news: ConversationNews, whole?: boolean): Conversation[]
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
  conversations: {},
  unreadConversations: null,
  tabId: '',
  clockOffset: 0,
}

export function createTaskStore(): TaskStore {
  const store = createStore<ClientState>(() => SIGNED_OUT)
  const { getState, setState } = store
  /** Unread conversations that are not held here, since an answer has its limit; null until it is known. */
  let unreadBeyond: number | null = null

  const set: TaskStore['set'] = (partial) => {
    const keys = Object.keys(partial) as (keyof typeof partial)[]
    if (keys.some((key) => getState()[key] !== partial[key])) setState(partial)
  }

  return {
    ...store,
    set,

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

    applyConversations({ conversations: incoming = [], unreadConversations: total }, whole) {
      const held = getState().conversations
      const conversations = mergeConversations(held, incoming)
      // Counted here and not taken over, or a late answer would bring a badge back: versions tell what is newer, a
      // total does not. Only what is beyond the limit of an answer has to be believed.
      const all = Object.values(conversations)
      if (typeof total === 'number' && (whole || unreadBeyond)) {
        unreadBeyond = Math.max(0, total - countUnread(whole ? incoming : all))
      }
      set({
        conversations,
        unreadConversations: unreadBeyond === null ? null : unreadBeyond + countUnread(all),
      })
      return incoming.filter((one) => conversations[one.id] === one && held[one.id] !== one)
    },

    setUnsent(drafts) {
      const { unsent } = getState()
      const isSame = (draft: TrackedTask) =>
        unsent[draft.id]?.status === draft.status &&
        unsent[draft.id]?.waiting?.retryAt === draft.waiting?.retryAt &&
        unsent[draft.id]?.createdAt === draft.createdAt
      if (drafts.length === Object.keys(unsent).length && drafts.every(isSame)) return
      setState({ unsent: Object.fromEntries(drafts.map((draft) => [draft.id, draft])) })
    },

    reset() {
      unreadBeyond = null
      setState({ ...SIGNED_OUT, tabId: getState().tabId }, true)
    },
  }
}

function countUnread(conversations: readonly Conversation[]): number {
  return conversations.filter(({ unread }) => unread > 0).length
}
