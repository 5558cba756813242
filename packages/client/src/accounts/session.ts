import { isOverdue, isTerminal, type SyncAnswer, type Task } from '@holdfast/shared'
import { createLocalCopy } from '../cache/local-copy.ts'
import { type Connection, connect } from '../connection/connection.ts'
import { pollInterval } from '../connection/poll-interval.ts'
import { browserId } from '../environment/browser-id.ts'
import { childAbort } from '../environment/child-abort.ts'
import { sleep } from '../environment/clock.ts'
import type { Environment } from '../environment/environment.ts'
import { onWakeUp } from '../environment/wake-up.ts'
import { signedOut } from '../holdfast-error.ts'
import { createSoloLeadership, createWebLockLeadership } from '../leadership/leadership.ts'
import { postOnce } from '../outbox/post-once.ts'
import { createOrigins, type Origins } from '../placeholders/origin.ts'
import { oldestFirst } from '../placeholders/placeholder.ts'
import type { IncomingTask, TrackedTask } from '../store/merge-tasks.ts'
import type { TaskNews, TaskStore } from '../store/task-store.ts'
import { openTabChannel, type TabMessage } from '../tabs/tab-channel.ts'
import { createHttp, type Http } from '../transport/http.ts'
import { readStream } from '../transport/read-stream.ts'

/** A leader answers in milliseconds, even a throttled one; whoever hears nothing asks the server. */
const LEADER_ANSWERS_WITHIN_MS = 2_000
/** A database that takes longer than this to open does not hold up the network. */
const COPY_READ_WITHIN_MS = 1_000
/** What the server takes in one request. */
const MAX_KNOWN = 2_000
/** Below this, a change of the clock offset is the network's jitter. */
const OFFSET_STEP_MS = 500

/** Signs a user in for one call at a time. */
export interface User {
  id: string
  /** Called for every connection; `fresh` is true after a 401 or when the server ended a stream whose token expired. */
  getToken(options: { fresh: boolean }): string | Promise<string>
}

export interface SessionOptions {
  user: User
  app: string
  url: string
  fetch: typeof fetch
  environment: Environment
  store: TaskStore
  onRestored(tasks: TrackedTask[]): void
  onSettled(tasks: TrackedTask[]): void
  /** The user signed out in another tab. */
  onLogout(): void
}

/** One user's time with this tab: from `setUser` to the next `setUser` or `logout`. */
export interface Session {
  readonly userId: string
  readonly http: Http
  /** Resolves when the local copy has been painted, or there is none. */
  readonly painted: Promise<void>
  setToken(getToken: User['getToken']): void
  submit(path: string, body?: { placeholderId?: string }, key?: string): Promise<Task>
  /** Takes in a task that an API call answered with. */
  learn(task: Task): void
  refresh(): Promise<void>
  /** Ends it: nothing that arrives later is taken in. */
  end(): Promise<void>
  /** Ends it, deletes what this browser keeps of the user, and tells the other tabs unless one of them told us. */
  purge(options: { tellOthers: boolean }): Promise<void>
}

export function startSession(options: SessionOptions): Session {
  const { user, environment, store } = options
  const { clock, random } = environment
  const scope = `holdfast:${encodeURIComponent(options.app)}:${encodeURIComponent(user.id)}`
  const life = new AbortController()
  const { signal } = life
  let { getToken } = user
  let cursor: string | null = null
  let connection: Connection | undefined
  let callOffHello = () => {}
  /** Not before the copy was read or the server has answered: an empty start must not replace a good copy. */
  let maySave = false

  const http = createHttp({
    url: options.url,
    fetch: options.fetch,
    clock,
    getToken: (how) => getToken(how),
    session: signal,
  })
  const origins: Origins = createOrigins({ storage: environment.sessionStorage, key: `${scope}:mine` })

  store.set({ userId: user.id, restore: 'loading', role: 'follower', connection: 'offline' })
  const copy = createLocalCopy({
    indexedDB: environment.indexedDB,
    database: `holdfast:${encodeURIComponent(options.app)}`,
    userId: user.id,
    clock,
    onHealth(storage) {
      if (!signal.aborted) store.set({ storage })
    },
  })
  const channel = openTabChannel(environment.openChannel, scope, onMessage)
  const leadership =
    channel && environment.locks
      ? createWebLockLeadership({ locks: environment.locks, name: scope, page: environment.page })
      : createSoloLeadership()

  const isLeader = () => store.getState().role === 'leader'
  const serverNow = () => clock.now() + store.getState().clockOffset

  /** The one way in for news, wherever it comes from. Late news of an ended session is dropped here. */
  function takeIn(news: TaskNews): TrackedTask[] {
    if (signal.aborted) return []
    const wasConfirmed = store.getState().restore === 'confirmed'
    const { changed, ended } = store.apply(news, origins)
    if (news.confirmed) maySave = true
    save()
    connection?.nudge()
    if (news.confirmed && !wasConfirmed) {
      options.onRestored(unfinished().filter((task) => !isOverdue(task, serverNow())))
    }
    if (ended.length > 0) options.onSettled(ended)
    return changed
  }

  function save() {
    if (isLeader() && maySave) copy.save(store.getState().tasks)
  }

  function unfinished() {
    return Object.values(store.getState().tasks)
      .filter((task) => !isTerminal(task.status))
      .sort(oldestFirst)
  }

  function tell(tasks: TrackedTask[], complete: boolean, gone: string[] = []) {
    if (signal.aborted) return
    const { restore, clockOffset } = store.getState()
    channel?.post({
      kind: 'states',
      tasks,
      gone,
      complete,
      confirmed: restore === 'confirmed',
      cursor,
      clockOffset,
    })
  }

  const tellAll = () => tell(Object.values(store.getState().tasks), true)

  /** News from the server: taken in, then passed on to the other tabs. */
  function takeInAndTell(tasks: IncomingTask[]) {
    const changed = takeIn({ tasks })
    if (changed.length > 0) tell(changed, false)
  }

  function takeInAnswer(answer: SyncAnswer, everything: boolean) {
    if (signal.aborted) return
    setClock(Date.parse(answer.now) - clock.now())
    const changed = takeIn({ tasks: answer.tasks, gone: answer.gone, confirmed: everything })
    cursor = answer.cursor
    if (everything) tellAll()
    else if (changed.length + answer.gone.length > 0) tell(changed, false, answer.gone)
  }

  function setClock(offset: number) {
    if (Math.abs(offset - store.getState().clockOffset) >= OFFSET_STEP_MS) store.set({ clockOffset: offset })
  }

  const isSynced = () => cursor !== null && store.getState().restore === 'confirmed'

  /** Everything, when this tab has no complete picture or `everything` is asked for; else what changed since the cursor. */
  async function sync(everything = !isSynced()) {
    const held = everything ? Object.values(store.getState().tasks).slice(-MAX_KNOWN) : unfinished()
    const known = Object.fromEntries(held.map((task) => [task.id, [task.version, task.progress]]))
    const body = everything ? { known } : { known, cursor }
    takeInAnswer(await http.json<SyncAnswer>('POST', '/v1/sync', { body }), everything)
  }

  function onMessage(message: TabMessage) {
    if (signal.aborted) return
    if (message.kind === 'logout') return options.onLogout()
    if (message.kind === 'hello') {
      if (isLeader()) tellAll()
      return
    }
    const { tasks, gone, complete, confirmed } = message
    takeIn({ tasks, gone, complete, confirmed: complete && confirmed })
    if (isLeader()) return
    setClock(message.clockOffset)
    // After a gap (`cursor` is null) only a complete message closes it.
    if (complete || cursor !== null) cursor = message.cursor ?? cursor
    if (complete) callOffHello()
  }

  function disconnect() {
    callOffHello()
    connection?.stop()
    connection = undefined
  }

  function lead(exclusive: boolean) {
    if (signal.aborted) return
    disconnect()
    store.set({ role: 'leader', connection: 'offline' })
    save()
    connection = connect({
      clock,
      random,
      signal,
      push: exclusive,
      isSynced,
      sync: () => sync(),
      stream: ({ onNews, ...stream }) =>
        readStream({
          ...stream,
          http,
          clock,
          cursor,
          browserId: browserId(environment.localStorage, options.app),
          onNews(news, eventId) {
            if (news.event === 'snapshot') takeInAnswer(news.data, false)
            else takeInAndTell([news.data.task])
            cursor = eventId ?? cursor
            onNews()
          },
        }),
      pollInterval: () => pollInterval(store.getState().tasks, serverNow()),
      onStatus: (status) => store.set({ connection: status }),
    })
  }

  function follow() {
    if (signal.aborted) return
    disconnect()
    store.set({ role: 'follower', connection: 'follower' })
    channel?.post({ kind: 'hello' })
    callOffHello = clock.after(LEADER_ANSWERS_WITHIN_MS, () => {
      // Offline as well, then: the leader will tell when it gets through.
      sync(true).catch(() => {})
    })
  }

  /** The page may come back from the back/forward cache, having missed what the others said. */
  function rest() {
    disconnect()
    cursor = null
    store.set({ role: 'follower', connection: 'offline' })
    void copy.flush()
  }

  const stopWaking = onWakeUp(environment, (why) => connection?.wake(why))

  async function paint() {
    const limit = childAbort(signal)
    const tooLate = sleep(clock, COPY_READ_WITHIN_MS, limit.signal).then(() => undefined)
    const kept = await Promise.race([copy.read(), tooLate])
    limit.abort()
    limit.release()
    if (signal.aborted) return
    maySave = kept !== undefined
    if (kept) {
      store.apply({ tasks: kept.map((task) => ({ ...task, stale: true })) }, origins)
      store.set({ restore: 'from-cache' })
    }
    leadership.start({ lead, follow, rest })
  }
  const painted = paint()

  function stop() {
    stopWaking()
    disconnect()
    leadership.stop()
    life.abort()
    channel?.close()
  }

  return {
    userId: user.id,
    http,
    painted,
    setToken(next) {
      getToken = next
      connection?.wake('online')
    },
    async submit(path, body, key) {
      if (body?.placeholderId !== undefined) origins.expect(body.placeholderId)
      const { task } = await postOnce<{ task: Task }>(
        { http, clock, random, session: signal },
        path,
        body,
        key,
      )
      if (signal.aborted) throw signedOut()
      origins.claim(task.id)
      takeInAndTell([task])
      // A crash right after the submit must not lose the card.
      void copy.flush()
      return task
    },
    learn: (task) => takeInAndTell([task]),
    async refresh() {
      await sync(true)
      // It got through, so whatever waits for a better moment need not.
      connection?.wake('online')
    },
    async end() {
      stop()
      await copy.flush()
    },
    async purge({ tellOthers }) {
      if (tellOthers && !signal.aborted) channel?.post({ kind: 'logout' })
      stop()
      origins.forget()
      await copy.purge()
    },
  }
}
