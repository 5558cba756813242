import {
  type Conversation,
  isOverdue,
  isTerminal,
  type SyncAnswer,
  type Task,
  type TerminalStatus,
} from '@holdfast/shared'
import { type Clock, sleep } from '../environment/clock.ts'
import type { Origins } from '../placeholders/origin.ts'
import { isUnsaved, oldestFirst } from '../placeholders/placeholder.ts'
import { addressesEnd } from '../store/addresses-end.ts'
import type { TrackedTask } from '../store/merge-tasks.ts'
import type { ConversationNews, TaskNews, TaskStore } from '../store/task-store.ts'
import type { TabMessage } from '../tabs/tab-message.ts'
import type { StreamNews, SyncQuestion, Transport } from '../transport/transport.ts'
import type { Emit } from './client-events.ts'

/** What the server takes in one request. */
const MAX_KNOWN = 2_000
/** Below this, a change of the clock offset is the network's jitter. */
const OFFSET_STEP_MS = 500
/** How often to look for addresses that run out, and how long before: a hidden tab's timers fire once a minute. */
const LOOK_MS = 30_000
const RENEW_MS = 120_000

export interface TaskFeedOptions {
  store: TaskStore
  origins: Origins
  transport: Transport
  clock: Clock
  session: AbortSignal
  emit: Emit
  /** Looked at before anything is taken in or passed on as a leader. */
  stillLeads(): boolean
  epoch(): number
  post(message: TabMessage): void
  /** After anything was taken in. */
  onTaken(changed: TrackedTask[], confirmedAt: string | null): void
}

/** The one way in for news of tasks, wherever it comes from, and the one way on to the other tabs. */
export function createTaskFeed(options: TaskFeedOptions) {
  const { store, origins, transport, clock, session, emit } = options
  const toldUnsaved = new Set<string>()
  let cursor: string | null = null
  let isClockKnown = false

  const serverNow = () => clock.now() + store.getState().clockOffset
  const isSynced = () => cursor !== null && store.getState().restore === 'confirmed'

  function unfinished(): TrackedTask[] {
    return Object.values(store.getState().tasks)
      .filter((task) => !isTerminal(task.status))
      .sort(oldestFirst)
  }

  const isRunningOut = (task: TrackedTask) => addressesEnd(task) - serverNow() < RENEW_MS

  /** Late news of an ended session is dropped here. */
  function takeIn(news: TaskNews, via: 'server' | 'other-tab', at?: string): TrackedTask[] {
    if (session.aborted) return []
    const wasConfirmed = store.getState().restore === 'confirmed'
    const { changed, ended } = store.apply(news, origins)
    options.onTaken(changed, news.confirmed ? (at ?? new Date(serverNow()).toISOString()) : null)
    if (news.confirmed && !wasConfirmed) {
      emit('restored', { tasks: unfinished().filter((task) => !isOverdue(task, serverNow())) })
    }
    for (const task of ended) emit('settled', { task, change: task.status as TerminalStatus, via })
    for (const task of changed) {
      if (!isUnsaved(task)) toldUnsaved.delete(task.id)
      else if (!toldUnsaved.has(task.id)) {
        toldUnsaved.add(task.id)
        emit('unsaved', { task, by: 'server', error: null, attempts: 0 })
      }
    }
    return changed
  }

  function tell(tasks: TrackedTask[], conversations: Conversation[], complete: boolean, gone: string[] = []) {
    if (session.aborted || !options.stillLeads()) return
    const { restore, clockOffset, unreadConversations } = store.getState()
    options.post({
      kind: 'states',
      epoch: options.epoch(),
      tasks,
      gone,
      conversations,
      unreadConversations,
      complete,
      confirmed: restore === 'confirmed',
      cursor,
      clockOffset,
    })
  }

  function tellAll() {
    const { tasks, conversations } = store.getState()
    tell(Object.values(tasks), Object.values(conversations), true)
  }

  function takeInAnswer(answer: SyncAnswer, everything: boolean) {
    if (session.aborted) return
    setClock(Date.parse(answer.now) - clock.now())
    const news = { tasks: answer.tasks, gone: answer.gone, confirmed: everything }
    const conversations = store.applyConversations(answer, everything)
    const changed = takeIn(news, 'server', answer.now)
    cursor = answer.cursor
    if (everything) tellAll()
    else if (changed.length + conversations.length + answer.gone.length > 0) {
      tell(changed, conversations, false, answer.gone)
    }
  }

  function setClock(offset: number) {
    isClockKnown = true
    if (Math.abs(offset - store.getState().clockOffset) >= OFFSET_STEP_MS) store.set({ clockOffset: offset })
  }

  /** Everything, when this tab has no complete picture or `everything` is asked for; else what changed since. */
  async function sync(everything = !isSynced()) {
    const led = options.stillLeads()
    const all = Object.values(store.getState().tasks)
    const held = everything ? all.slice(-MAX_KNOWN) : [...unfinished(), ...all.filter(isRunningOut)]
    const known: SyncQuestion['known'] = {}
    for (const task of held) {
      // Of a state that is not known, the server tells everything, with addresses that work.
      known[task.id] = isRunningOut(task) ? [0, null] : [task.version, task.progress]
    }
    const answer = await transport.sync({ known, cursor: everything ? null : cursor })
    // Robbed meanwhile: what a former leader asked for is not taken in.
    if (!led || options.stillLeads()) takeInAnswer(answer, everything)
  }

  async function renewAddresses() {
    while (!session.aborted) {
      await sleep(clock, LOOK_MS, session)
      const { tasks } = store.getState()
      // Without a network it waits for the next look.
      if (options.stillLeads() && Object.values(tasks).some(isRunningOut)) await sync().catch(() => {})
    }
  }
  void renewAddresses()

  return {
    takeIn,
    sync,
    tellAll,
    isSynced,
    serverNow,
    /** Server clock minus this device's; null until the server has been heard. */
    offset: () => (isClockKnown ? store.getState().clockOffset : null),
    cursor: () => cursor,
    /** The page may have missed what the others said: only everything closes the gap. */
    forgetCursor() {
      cursor = null
    },
    /** What the stream brings. */
    receive(news: StreamNews, eventId: string | null) {
      if (session.aborted || !options.stillLeads()) return
      if (news.event === 'snapshot') takeInAnswer(news.data, false)
      else if (news.event === 'task') {
        const changed = takeIn({ tasks: [news.data.task] }, 'server')
        if (changed.length > 0) tell(changed, [], false)
      } else {
        const changed = store.applyConversations(news.data)
        if (changed.length > 0) tell([], changed, false)
      }
      cursor = eventId ?? cursor
    },
    /** What a call of this tab was answered with. */
    learn(task: Task) {
      const [tracked] = takeIn({ tasks: [task] }, 'server')
      if (tracked && !session.aborted) options.post({ kind: 'task', task: tracked })
    },
    /** The same of conversations. */
    learnConversations(news: ConversationNews) {
      if (session.aborted) return
      const conversations = store.applyConversations(news)
      if (conversations.length > 0) options.post({ kind: 'conversations', conversations })
    },
    /** What the leader says. */
    hear({ tasks, gone, complete, confirmed, ...message }: Extract<TabMessage, { kind: 'states' }>) {
      store.applyConversations(message, complete)
      takeIn({ tasks, gone, complete, confirmed: complete && confirmed }, 'other-tab')
      // A leader that has not heard the server says zero.
      if (confirmed || message.clockOffset !== 0) setClock(message.clockOffset)
      // After a gap (`cursor` is null) only a complete message closes it.
      if (complete || cursor !== null) cursor = message.cursor ?? cursor
    },
  }
}
