import { nameChange, type Priority, type Task, type TaskChange } from '@holdfast/shared'
import { type Session, startSession, type User } from './accounts/session.ts'
import { browserEnvironment, type Environment } from './environment/environment.ts'
import { randomId } from './environment/random-id.ts'
import { signedOut } from './holdfast-error.ts'
import type { TrackedTask } from './store/merge-tasks.ts'
import { createTaskStore, type ReadonlyStore } from './store/task-store.ts'
import { type Conversations, createConversations } from './transport/conversations.ts'

export interface ClientOptions {
  /** Base URL of the server. @default '' (same origin) */
  url?: string
  /** Separates apps (and environments) that share an origin; part of every storage, lock and channel name. @default 'app' */
  app?: string
  /** @default globalThis.fetch */
  fetch?: typeof fetch
  /** Replaces parts of the browser: for tests, and for places that are almost a browser. */
  environment?: Partial<Environment>
}

export interface SubmitInput {
  type: string
  params: Record<string, unknown>
  conversationId?: string
  /** The id under which the app already shows the task; made from the task's id when there is none. */
  placeholderId?: string
  metadata?: Record<string, unknown>
  /** Its place within its lane. @default 'normal' */
  priority?: Priority
  /** How often a refused submit is tried. @default 3 */
  maxAttempts?: number
  /** How long it may run. @default what its type allows */
  timeoutMs?: number
  /**
   * Submits with the same key and content are one task. After a `NETWORK` error nobody can tell whether the server
   * got it: submit again with the same key and it is not made twice.
   * @default a new one for each call
   */
  idempotencyKey?: string
}

export interface ClientEvents {
  /** The server has confirmed what is still unfinished, oldest first. Once per sign-in. */
  restored: { tasks: TrackedTask[] }
  /** A task known here as unfinished has ended. */
  settled: { task: TrackedTask; change: TaskChange }
}

export interface HoldfastClient {
  /** A read-only zustand store. */
  readonly store: ReadonlyStore
  /**
   * Signs in, switches user, or with null just stops, deleting nothing. The same id again only replaces `getToken`.
   * Resolves when the local copy is painted; it waits for no network.
   */
  setUser(user: User | null): Promise<void>
  /** Ends the session in every tab of this browser: aborts, drops late replies, clears memory, deletes the local copy. */
  logout(): Promise<void>
  submit(input: SubmitInput): Promise<Task>
  cancel(taskId: string): Promise<Task>
  /** A failed or cancelled task again, as a new task that takes over its placeholder. */
  retry(taskId: string): Promise<Task>
  /** Asks the server now. */
  refresh(): Promise<void>
  readonly conversations: Conversations
  /** Returns the undo. */
  on<E extends keyof ClientEvents>(event: E, listener: (payload: ClientEvents[E]) => void): () => void
  /** Releases everything: stream, lock, channel, timers. Idempotent. */
  close(): Promise<void>
}

/**
 * @example
 * const client = createClient({ url: 'https://api.example.com' })
 * await client.setUser({ id: 'alice', getToken: () => auth.token() })
 * const task = await client.submit({ type: 'image', params: { prompt: 'a lighthouse' } })
 */
export function createClient(options: ClientOptions = {}): HoldfastClient {
  const store = createTaskStore()
  store.set({ tabId: randomId() })
  const listeners: { [E in keyof ClientEvents]: Set<(payload: ClientEvents[E]) => void> } = {
    restored: new Set(),
    settled: new Set(),
  }
  let session: Session | undefined

  function emit<E extends keyof ClientEvents>(event: E, payload: ClientEvents[E]) {
    for (const listener of listeners[event]) {
      // A listener's error is the app's to see, but must not stop the stream that called it.
      queueMicrotask(() => listener(payload))
    }
  }

  function current(): Session {
    if (!session) throw signedOut()
    return session
  }

  /** Ends the session and empties the store at once; what is left to wait for is the disk. */
  async function leave(finish: (ending: Session) => Promise<void>) {
    const ending = session
    session = undefined
    if (!ending) return
    const finished = finish(ending)
    store.reset()
    await finished
  }

  const end = () => leave((ending) => ending.end())

  async function setUser(user: User | null) {
    if (user && session?.userId === user.id) {
      session.setToken(user.getToken)
      return session.painted
    }
    const ended = end()
    if (!user) return ended
    const started = startSession({
      user,
      app: options.app ?? 'app',
      url: options.url ?? '',
      fetch: options.fetch ?? ((input, init) => globalThis.fetch(input, init)),
      environment: { ...browserEnvironment(), ...options.environment },
      store,
      onRestored: (tasks) => emit('restored', { tasks }),
      onSettled(tasks) {
        for (const task of tasks) emit('settled', { task, change: nameChange(undefined, task) })
      },
      onLogout() {
        if (session === started) void leave((ending) => ending.purge({ tellOthers: false }))
      },
    })
    session = started
    await started.painted
  }

  const pathOf = (taskId: string) => `/v1/tasks/${encodeURIComponent(taskId)}`

  return {
    store: {
      getState: store.getState,
      getInitialState: store.getInitialState,
      subscribe: store.subscribe,
    },
    setUser,
    logout: () => leave((ending) => ending.purge({ tellOthers: true })),
    submit: async ({ idempotencyKey, ...body }) => current().submit('/v1/tasks', body, idempotencyKey),
    async cancel(taskId) {
      const canceller = current()
      const { task } = await canceller.http.json<{ task: Task }>('POST', `${pathOf(taskId)}/cancel`)
      canceller.learn(task)
      return task
    },
    retry: async (taskId) => current().submit(`${pathOf(taskId)}/retry`),
    refresh: async () => current().refresh(),
    conversations: createConversations(() => current().http),
    on(event, listener) {
      listeners[event].add(listener)
      return () => listeners[event].delete(listener)
    },
    close: end,
  }
}
