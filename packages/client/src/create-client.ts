import { placeholderIdOf, type Task } from '@holdfast/shared'
import type { ClientEvents } from './accounts/client-events.ts'
import { appScope } from './accounts/scope.ts'
import type { Session, SessionInsight, User } from './accounts/session.ts'
import { signOutEveryone } from './accounts/sign-out-everyone.ts'
import { startSession } from './accounts/start-session.ts'
import { browserEnvironment, type Environment } from './environment/environment.ts'
import { randomId } from './environment/random-id.ts'
import { signedOut } from './holdfast-error.ts'
import type { SettleHandler } from './inbox/inbox.ts'
import { type ClientState, createTaskStore, type ReadonlyStore } from './store/task-store.ts'
import { createHoldfastTransport } from './transport/holdfast-transport.ts'
import type { Http } from './transport/http.ts'
import type { CreateTransport, SubmitBody } from './transport/transport.ts'

export interface ClientOptions {
  /** Base URL of the server. @default '' (same origin) */
  url?: string
  /** Separates apps that share an origin; part of every storage, lock and channel name. @default 'app' */
  app?: string
  /** Separates deployments of one app that share an origin: 'staging', a preview's name. @default none */
  deployment?: string
  /** @default globalThis.fetch */
  fetch?: typeof fetch
  /** Talks to the backend. @default createHoldfastTransport() */
  transport?: CreateTransport
  /** Replaces parts of the browser: for tests, simulations, and places that are almost a browser. */
  environment?: Partial<Environment>
}

export interface SubmitInput<Type extends string = string, Params = Record<string, unknown>>
  extends Omit<SubmitBody, 'type' | 'params'> {
  type: Type
  params: Params
  /**
   * Submits with the same key and content are one task, so that what is sent again is not made twice.
   * @default a new one for each call
   */
  idempotencyKey?: string
}

/** A submit that this browser has written down, and sends as soon as it can. */
export interface Submission<T = Task> {
  /** Its idempotency key; what `discard` and `resend` take. */
  key: string
  placeholderId: string
  /** `memory`: this browser keeps nothing, so a closed page may lose it before it is sent. */
  storage: ClientState['storage']
  /** The server has it. Rejects when it is refused, given up after a day, or the user signs out first. */
  task: Promise<T>
}

/** What goes on inside, for devtools; not a public contract. */
export type Insight = ClientState & { session: SessionInsight | null }

export interface HoldfastClient {
  /** A read-only zustand store. */
  readonly store: ReadonlyStore
  /**
   * Signs in, switches user, or with null just stops, deleting and writing nothing. The same id again only replaces `getToken`.
   * Resolves when the local copy is painted; it waits for no network.
   */
  setUser(user: User | null): Promise<void>
  /**
   * Ends the session in every tab of this browser: aborts, drops late replies, clears memory, deletes the local copy.
   * What is not yet sent or saved waits for this user's next log-in; with `forget` it goes too. Before anybody has
   * signed in to this page it does the same for every user of this app who has left something in this browser.
   */
  logout(options?: { forget?: boolean }): Promise<void>
  /** Resolves when it is on disk; it shows at once, and is sent now or when there is a network. */
  submit(input: SubmitInput): Promise<Submission>
  /** Sends one again that was refused or given up. */
  resend(key: string): Promise<void>
  /**
   * Takes one that is not sent off the list. If the server has it all the same, because a request is under way or its
   * answer was lost, its task is cancelled.
   */
  discard(key: string): Promise<void>
  cancel(taskId: string): Promise<Task>
  /** A failed or cancelled task again, as a new task that takes over its placeholder. */
  retry(taskId: string): Promise<Task>
  /** Has the server write a finished task's missing message, then hands the task to the app's handlers again. */
  retrySave(taskId: string): Promise<Task>
  /** Asks the server now. */
  refresh(): Promise<void>
  /**
   * Calls the server with the user's token, which is renewed once after a 401. `listTasks(client)`,
   * `createConversations(client)` and `readCredits(client)` are made of it, and so can calls of your own be.
   */
  request: Http['json']
  /** @internal For `createConversations`. Throws if nobody is signed in. */
  session(): Pick<Session, 'http' | 'learnConversations'>
  /** Returns the undo. */
  on<E extends keyof ClientEvents>(event: E, listener: (payload: ClientEvents[E]) => void): () => void
  /**
   * What to do when a task has ended: at least once per browser, in one tab at a time, for what ended since this
   * browser first synced for this user. A handler that throws is tried again after a reload. Returns the undo.
   */
  onSettled(handler: SettleHandler): () => void
  /** @internal */
  inspect(): Insight
  /** Releases everything: stream, lock, channel, timers. Idempotent. */
  close(): Promise<void>
}

/**
 * @example
 * const client = createClient({ url: 'https://api.example.com' })
 * await client.setUser({ id: 'alice', getToken: () => auth.token() })
 * const { task } = await client.submit({ type: 'image', params: { prompt: 'a lighthouse' } })
 */
export function createClient(options: ClientOptions = {}): HoldfastClient {
  const store = createTaskStore()
  store.set({ tabId: randomId() })
  const listeners = new Set<{ event: keyof ClientEvents; listener: (payload: never) => void }>()
  const handlers = new Map<SettleHandler, () => void>()
  let session: Session | undefined

  function emit<E extends keyof ClientEvents>(event: E, payload: ClientEvents[E]) {
    for (const { event: name, listener } of listeners) {
      // A listener's error is the app's to see, but must not stop the stream that called it.
      if (name === event) queueMicrotask(() => listener(payload as never))
    }
  }

  function current(): Session {
    if (!session) throw signedOut()
    return session
  }

  /** Ends the session and empties the store at once; what is left to wait for is the disk. */
  async function leave(finish: (ending: Session) => Promise<void> | void) {
    const ending = session
    session = undefined
    if (!ending) return
    const finished = finish(ending)
    store.reset()
    await finished
  }

  const end = () => leave((ending) => ending.end())

  const environmentNow = (): Environment => ({ ...browserEnvironment(), ...options.environment })

  async function logout({ forget = false } = {}) {
    if (session) return leave((ending) => ending.purge({ tellOthers: true, forget }))
    return signOutEveryone(environmentNow(), appScope(options.app ?? 'app', options.deployment), forget)
  }

  async function setUser(user: User | null) {
    if (session && user?.id === store.getState().userId) {
      session.setToken(user.getToken)
      return session.painted
    }
    const ended = end()
    if (!user) return ended
    const environment = environmentNow()
    const started = startSession({
      user,
      app: options.app ?? 'app',
      deployment: options.deployment,
      url: options.url ?? '',
      environment: { ...environment, fetch: options.fetch ?? environment.fetch },
      transport: options.transport ?? createHoldfastTransport(),
      store,
      emit,
      onLogout(forget) {
        if (session === started) void leave((ending) => ending.purge({ tellOthers: false, forget }))
      },
    })
    session = started
    for (const handler of handlers.keys()) handlers.set(handler, started.inbox.handle(handler))
    await started.painted
  }

  async function learned(call: (session: Session) => Promise<Task>) {
    const caller = current()
    const task = await call(caller)
    caller.learn(task)
    return task
  }

  return {
    store,
    setUser,
    logout,
    async submit({ idempotencyKey: key = randomId(), placeholderId = key, ...rest }) {
      const intent = { key, body: { ...rest, placeholderId }, retryOf: null }
      const { durable, task } = await current().submit(intent)
      return { key, placeholderId, storage: durable ? 'durable' : 'memory', task }
    },
    resend: async (key) => current().outbox.resend(key),
    discard: async (key) => current().outbox.discard(key),
    cancel: (taskId) => learned(({ transport }) => transport.cancel(taskId)),
    async retry(taskId) {
      const known = store.getState().tasks[taskId]
      const body = {
        type: known?.type ?? '',
        params: known?.params ?? {},
        conversationId: known?.conversationId ?? undefined,
        placeholderId: placeholderIdOf({ placeholderId: null, ...known, id: taskId }),
      }
      return (await current().submit({ key: randomId(), body, retryOf: taskId })).task
    },
    async retrySave(taskId) {
      const saver = current()
      const task = await learned(({ transport }) => transport.save(taskId))
      const tracked = store.getState().tasks[taskId]
      if (tracked) await saver.inbox.redo(tracked)
      return task
    },
    refresh: async () => current().refresh(),
    request: async (...call) => current().http.json(...call),
    session: current,
    on(event, listener) {
      const entry = { event, listener }
      listeners.add(entry)
      return () => listeners.delete(entry)
    },
    onSettled(handler) {
      handlers.set(handler, session?.inbox.handle(handler) ?? (() => {}))
      return () => {
        handlers.get(handler)?.()
        handlers.delete(handler)
      }
    },
    inspect: () => ({ ...store.getState(), session: session?.inspect() ?? null }),
    close: () => leave((ending) => ending.close()),
  }
}
