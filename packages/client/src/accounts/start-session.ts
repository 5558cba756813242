import { openIdbStore } from '../cache/idb-store.ts'
import { createKeep } from '../cache/kept.ts'
import { createLocalCopy } from '../cache/local-copy.ts'
import { type Connection, connect } from '../connection/connection.ts'
import { pollInterval } from '../connection/poll-interval.ts'
import { createItems, nameIn } from '../environment/items.ts'
import { listen } from '../environment/listen.ts'
import { randomId } from '../environment/random-id.ts'
import { mayPass, signedOut } from '../holdfast-error.ts'
import { createInbox, isInboxRecord } from '../inbox/inbox.ts'
import { createLadder } from '../leadership/ladder.ts'
import { isIntents, toDraft } from '../outbox/intent.ts'
import { createOutbox } from '../outbox/outbox.ts'
import { createOrigins } from '../placeholders/origin.ts'
import { ANSWER_WITHIN_MS } from '../tabs/tab-channel.ts'
import type { TabMessage } from '../tabs/tab-message.ts'
import { createHttp } from '../transport/http.ts'
import { copyKey, inboxKey, outboxKey, scopeOf } from './scope.ts'
import type { Session, SessionOptions } from './session.ts'
import { createSignOutMark } from './sign-out-mark.ts'
import { createTaskFeed } from './task-feed.ts'

/** Where tabs cannot be asked whether they live: longer than any call takes. */
const CLAIM_MS = 60_000

export function startSession(options: SessionOptions): Session {
  const { user, environment, store, emit } = options
  const { clock, random } = environment
  const items = createItems(environment.localStorage)
  const scope = scopeOf(options.app, options.deployment, user.id)
  // New for each session: a page that signed out and in again no longer does what it began before.
  const tabId = randomId()
  const life = new AbortController()
  const { signal } = life
  let { getToken } = user
  let connection: Connection | undefined
  let callOffHello = () => {}
  /** The first question, until a connection goes on from it. */
  let asked: Promise<void> | undefined
  /** Not before the copy was read or the server has answered: an empty start must not replace a good copy. */
  let maySave = false

  const http = createHttp({
    url: options.url,
    fetch: environment.fetch,
    clock,
    tokenSource: () => getToken,
    session: signal,
  })
  const transport = options.transport({ http, clock, browserId: () => nameIn(items, `${scope.app}:browser`) })

  const mark = createSignOutMark(items, scope.user)
  store.set({ tabId, userId: user.id, restore: 'loading', role: 'follower', connection: 'offline' })
  const openStore = (name: string) =>
    environment.indexedDB && openIdbStore(environment.indexedDB, name, clock)
  const keep = createKeep(openStore(scope.app), (health) => {
    if (!signal.aborted) store.set(health)
  })
  const copy = createLocalCopy({ keep, items, key: copyKey(scope.user), clock, mayWrite: mark.stands })
  const origins = createOrigins({
    session: createItems(environment.sessionStorage),
    durable: items,
    app: scope.app,
    mayWrite: mark.stands,
  })
  // A tab that stands still in the middle of a write holds up all others that write to the same database.
  const disk = openStore(`${scope.app}:lead`)
  const ladder = createLadder({ environment, items, disk, name: scope.user, tabId, onMessage })
  const { leadership, channel } = ladder
  const unsent = keep(outboxKey(scope.user), isIntents, { durability: 'strict' })
  const settled = keep(inboxKey(scope.user), isInboxRecord, { durability: 'strict' })
  const isAlive = async (id: string, since: number) =>
    channel?.works() ? (await channel.ping(id)) !== null : clock.now() - since < CLAIM_MS

  const feed = createTaskFeed({
    store,
    origins,
    transport,
    clock,
    session: signal,
    emit,
    stillLeads: leadership.stillLeads,
    epoch: leadership.epoch,
    post: (message) => channel?.post(message),
    onTaken(changed, confirmedAt) {
      if (confirmedAt) {
        maySave = true
        void inbox.confirm(confirmedAt)
      }
      save()
      connection?.nudge()
      inbox.offer(changed)
    },
  })
  const outbox = createOutbox({
    record: unsent,
    page: tabId,
    tab: origins.tab,
    clock,
    random,
    offset: feed.offset,
    askServer: () => feed.sync(true),
    session: signal,
    mayAdd: mark.stands,
    mayAdopt: () => environment.isVisible() || leadership.stillLeads(),
    isAlive,
    send: ({ key, body, retryOf }) =>
      retryOf === null ? transport.submit(body, key) : transport.retry(retryOf, key),
    onSent({ madeBy }, task) {
      origins.claim(task.id, madeBy)
      feed.learn(task)
      // A crash right after the submit must not lose the card.
      void copy.flush()
    },
    async cancel(task) {
      try {
        feed.learn(await transport.cancel(task.id))
      } catch (error) {
        // Until then the task is there for all to see, and can be cancelled by hand.
        feed.learn(task)
        if (mayPass(error)) throw error
      }
    },
    onFailed: ({ key, body }, error) => emit('not-sent', { key, placeholderId: body.placeholderId, error }),
    onChange: (intents) =>
      store.setUnsent(
        intents.map((intent) => toDraft(intent, feed.offset() ?? 0, intent.madeBy === origins.tab)),
      ),
    findTask: ({ body: { placeholderId }, retryOf }) =>
      Object.values(store.getState().tasks).find(
        (task) => task.placeholderId === placeholderId && task.retryOf === retryOf,
      ),
    tellOthers: () => channel?.post({ kind: 'outbox' }),
  })
  const inbox = createInbox({
    record: settled,
    tabId,
    clock,
    session: signal,
    isAlive,
    isLeader: leadership.stillLeads,
    known: () => Object.values(store.getState().tasks),
    onFailed: (task, error, attempts) => emit('unsaved', { task, by: 'app', error, attempts }),
  })

  function save() {
    if (maySave && leadership.stillLeads()) copy.save(store.getState().tasks)
  }

  function onMessage(message: TabMessage, from: string) {
    if (signal.aborted) return
    leadership.hear(message, from)
    if (message.kind === 'logout') options.onLogout(message.forget)
    else if (message.kind === 'hello') feed.tellAll()
    else if (message.kind === 'task') feed.takeIn({ tasks: [message.task] }, 'other-tab')
    else if (message.kind === 'conversations') store.applyConversations(message)
    else if (message.kind === 'outbox') void outbox.look()
    else if (message.kind === 'states' && leadership.isCurrent(message.epoch) && !leadership.stillLeads()) {
      feed.hear(message)
      if (message.complete) callOffHello()
    }
  }

  function disconnect() {
    callOffHello()
    connection?.stop()
    connection = undefined
  }

  function open(push: boolean, epoch: number) {
    const { stream } = transport
    connection = connect({
      clock,
      random,
      signal,
      push: push && stream !== undefined,
      isSynced: () => !asked && feed.isSynced(),
      sync() {
        const first = asked
        asked = undefined
        return first ?? feed.sync()
      },
      stream: async ({ onNews, ...how }) =>
        stream?.({
          ...how,
          cursor: feed.cursor(),
          epoch,
          onNews(news, eventId) {
            feed.receive(news, eventId)
            onNews()
          },
        }) ?? 'closed',
      pollInterval: () => pollInterval(store.getState().tasks, feed.serverNow()),
      onSuperseded: leadership.superseded,
      onStatus(status) {
        if (status !== 'offline' && store.getState().connection === 'offline') sendAll()
        store.set({ connection: status })
      },
    })
  }

  function lead(exclusive: boolean, epoch: number) {
    disconnect()
    store.set({ role: 'leader', connection: 'offline' })
    save()
    // It was answered before there was anybody to tell.
    if (asked && feed.isSynced()) feed.tellAll()
    open(exclusive, epoch)
    sendAll()
  }

  function follow(understood: boolean) {
    disconnect()
    store.set({ role: 'follower', connection: 'follower' })
    // The leader is of another release: it keeps the stream, and we look for ourselves.
    if (!understood) return open(false, 0)
    asked = undefined
    channel?.post({ kind: 'hello' })
    callOffHello = clock.after(ANSWER_WITHIN_MS, () => {
      // Offline as well, then: the leader will tell when it gets through.
      feed.sync(true).catch(() => {})
    })
  }

  /** The page may come back from the back/forward cache, having missed what the others said. */
  function rest() {
    save()
    void copy.flush(true)
    disconnect()
    asked = undefined
    feed.forgetCursor()
    store.set({ role: 'follower', connection: 'offline' })
  }

  function sendAll() {
    outbox.wake()
    void outbox.adopt()
  }

  function wake(why: 'online' | 'visible') {
    connection?.wake(why)
    sendAll()
  }
  /** Before all other listeners: what the page shows of a user who has signed out goes first. */
  const stopWatching = mark.watch(environment.page, options.onLogout)
  /** Where localStorage does not tell, the disk does. */
  async function checkDisk() {
    if (!(await copy.stands()) && !signal.aborted) options.onLogout(false)
  }
  const visible = () => {
    if (environment.isVisible()) wake('visible')
  }
  // Moments at which waiting any longer makes no sense: the network is back, or someone looks at the page.
  const stopWaking = listen(environment.page, {
    online: () => wake('online'),
    visibilitychange: visible,
    pageshow(event) {
      visible()
      // Not at every load: it reads the whole copy, while the first answer is on its way.
      if ((event as PageTransitionEvent).persisted) void checkDisk()
    },
  })

  /** Once per browser, and not before there is something to lose: some browsers ask the user. */
  async function askToPersist() {
    const key = `${scope.app}:persist`
    if (!environment.persist || items.get(key)) return
    items.set(key, 'asked')
    // A browser that says no may clear what is kept when it needs room, as without asking.
    await environment.persist().catch(() => false)
  }

  async function paint() {
    const tasks = await copy.read()
    if (signal.aborted) return
    if (tasks) {
      // Nobody else has these objects.
      for (const task of tasks) task.stale = true
      store.apply({ tasks }, origins)
      store.set({ restore: 'from-cache' })
      // The cards first: all else would keep the page busy.
      if (ladder.isAlone) await new Promise<void>(environment.afterFrame)
    }
    const looked = outbox.look()
    // Nobody would tell: this tab asks before it knows that it leads. The answer is as good should it not.
    if (ladder.isAlone) {
      asked = feed.sync(true)
      asked.catch((error) => {
        // Who leads asks again at once, unless the server wants to be left alone for a while.
        if (!error?.retryAfterMs) asked = undefined
      })
    }
    await looked
    maySave = store.getState().storage === 'durable'
    // Not sooner: it keeps the database busy, and nobody waits for it.
    if (!signal.aborted) leadership.start({ lead, follow, rest, wake: () => wake('visible') })
  }
  const painted = paint()

  function stop() {
    stopWatching()
    stopWaking()
    disconnect()
    leadership.stop()
    life.abort()
    channel?.close()
  }

  return {
    http,
    transport,
    outbox,
    inbox,
    painted,
    setToken(next) {
      getToken = next
      wake('online')
    },
    submit(intent) {
      origins.expect(intent.body.placeholderId, origins.tab)
      void askToPersist()
      return outbox.add(intent)
    },
    learn: feed.learn,
    learnConversations: feed.learnConversations,
    async refresh() {
      await feed.sync(true)
      if (signal.aborted) throw signedOut()
      // It got through, so whatever waits for a better moment need not.
      wake('online')
    },
    inspect: () => ({ ...ladder.inspect(), cursor: feed.cursor() }),
    end() {
      stop()
      copy.stop()
    },
    async close() {
      stop()
      await copy.flush()
    },
    async purge({ tellOthers, forget }) {
      // Told by another page: that one has changed the mark, and deletes what goes for all. A page that hears of it late
      // must not delete what the user's next session has written meanwhile.
      const signedOut = tellOthers ? mark.change(forget) : undefined
      if (tellOthers && !signal.aborted) channel?.post({ kind: 'logout', forget })
      stop()
      await copy.purge(signedOut)
      if (!tellOthers || !forget) return
      origins.forget()
      await unsent.drop()
      await settled.drop()
    },
  }
}
