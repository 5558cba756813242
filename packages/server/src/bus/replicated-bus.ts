import { randomUUID } from 'node:crypto'
import { performance } from 'node:perf_hooks'
import type { Logger } from 'pino'
import type { WorkHint } from '../engine/work-queue.ts'
import { outageLogOf } from '../outage-log.ts'
import type { Bus, OpenedStream } from './bus.ts'
import { type BusMessage, inPieces, readBusMessage } from './bus-message.ts'
import type { OpenChannel } from './channel.ts'
import { createMemoryBus } from './memory-bus.ts'
import { createWatchedElsewhere } from './watched-elsewhere.ts'

export interface ReplicatedBusOptions {
  open: OpenChannel
  log: Pick<Logger, 'debug' | 'warn' | 'info'>
  /** Hints that come within this time go as one message. @default 5 */
  gatherMs?: number
  /** How often each replica says who is watched there. @default 10_000 */
  announceMs?: number
  now?: () => number
}

/** Room for the rest of a message. */
const ENVELOPE_BYTES = 200
const MOST_UNDER_WAY = 3
/** Who could not speak tries again after so long. */
const SPEAK_AGAIN_MS = 500
/** Whoever gives a browser a longer name than that has its streams told apart within one replica only. */
const LONGEST_STREAM_BYTES = 2_000

/**
 * A bus over several replicas. Listeners here are told at once; the others by the channel, many hints in one message and
 * outside of any transaction. Whoever could not hear, or was not heard, has everybody look once it is over.
 */
export function createReplicatedBus(options: ReplicatedBusOptions): Bus {
  const { open, log, gatherMs = 5, announceMs = 10_000, now = () => performance.now() } = options
  const own = randomUUID()
  const local = createMemoryBus()
  const elsewhere = createWatchedElsewhere(announceMs * 3)
  const watchers = new Map<string, number>()
  const gathered = {
    changed: new Set<string>(),
    progressed: new Set<string>(),
    watch: new Set<string>(),
    unwatch: new Set<string>(),
  }
  /** By user and browser. */
  const opened = new Map<string, OpenedStream>()
  const hearers = new Set<(stream: OpenedStream) => void>()
  const work = new Map<string, WorkHint>()
  let gathering: NodeJS.Timeout | undefined
  let heardAt = now()
  let sending = Promise.resolve()
  let underWay = 0
  /** From the first thing that could not be said until the others have heard of it. */
  let isUnheard = false
  let speaking: NodeJS.Timeout | undefined
  let isClosed = false

  const channel = open({
    message(text) {
      heardAt = now()
      const message = readBusMessage(text)
      if (!message || message.from === own) return
      elsewhere.hear(message, now())
      if (message.kind === 'changed' || message.kind === 'progressed') {
        for (const user of message.users) local.publish(user, message.kind)
      }
      if (message.kind === 'work') {
        if (!message.queues) local.publishAnyWork()
        for (const queue of message.queues ?? []) local.publishWork(queue)
      }
      if (message.kind === 'hello') announce()
      if (message.kind === 'missed') lookHere()
      if (message.kind === 'opened') {
        for (const stream of message.streams) for (const hear of hearers) hear(stream)
      }
    },
    connected() {
      heardAt = now()
      void send([{ from: own, kind: 'hello', users: [] }])
      announce()
      lookHere()
    },
  })
  const outage = channel.over ? outageLogOf(log, channel.over) : null
  const announcing = setInterval(() => {
    // Our own announcements come back to us. Where they do not, the connection is dead and does not know it.
    if (now() - heardAt > announceMs * 2.5) {
      heardAt = now()
      channel.renew()
    }
    announce()
  }, announceMs)
  announcing.unref()

  /** One after the other: over a pool of connections a later one could overtake. */
  function send(messages: BusMessage[]): Promise<void> {
    if (messages.length === 0) return sending
    underWay += 1
    sending = sending.then(async () => {
      const missed: BusMessage[] = isUnheard ? [{ from: own, kind: 'missed', users: [] }] : []
      try {
        await channel.send([...missed, ...messages].map((message) => JSON.stringify(message)))
        if (isUnheard) log[outage ? 'debug' : 'info']('replicas can hear each other again')
        outage?.back()
        isUnheard = false
      } catch (error) {
        speakAgain(error)
      } finally {
        underWay -= 1
      }
    })
    return sending
  }

  /** Later, whatever is said next says first that something was not. */
  function speakAgain(error: unknown): void {
    if (isClosed) return
    outage?.away(error)
    if (!isUnheard) {
      log[outage ? 'debug' : 'warn'](
        { err: error },
        'replicas cannot hear each other; streams find changes by themselves, a little later',
      )
    }
    isUnheard = true
    speaking ??= setTimeout(() => {
      speaking = undefined
      announce()
    }, SPEAK_AGAIN_MS)
  }

  /** Anything may have changed. */
  function lookHere(): void {
    local.publishAnyWork()
    for (const user of watchers.keys()) local.publish(user)
  }

  function announce(): void {
    if (underWay > MOST_UNDER_WAY) return
    const pieces = inPieces([...watchers.keys()], channel.maxBytes - ENVELOPE_BYTES)
    void send(
      pieces.map((users, index) => ({
        from: own,
        kind: 'watching',
        users,
        isFirst: index === 0,
        isLast: index === pieces.length - 1,
      })),
    )
  }

  function flush(): void {
    // What is on its way first: a channel that hangs must not make a queue of hints, which a set of users replaces.
    if (underWay > 0 && !isClosed) {
      gathering = setTimeout(flush, gatherMs)
      return
    }
    gathering = undefined
    const messages: BusMessage[] = []
    if (work.size > 0) messages.push({ from: own, kind: 'work', users: [], queues: [...work.values()] })
    work.clear()
    // Who is told to look the row up finds its progress too.
    for (const user of gathered.changed) gathered.progressed.delete(user)
    for (const kind of ['changed', 'progressed', 'watch', 'unwatch'] as const) {
      const users = [...gathered[kind]]
      gathered[kind].clear()
      if (users.length === 0) continue
      const pieces = inPieces(users, channel.maxBytes - ENVELOPE_BYTES)
      messages.push(...pieces.map((piece) => ({ from: own, kind, users: piece })))
    }
    if (opened.size > 0) {
      const pieces = inPieces([...opened.values()], channel.maxBytes - ENVELOPE_BYTES)
      opened.clear()
      messages.push(...pieces.map((streams) => ({ from: own, kind: 'opened' as const, users: [], streams })))
    }
    void send(messages)
  }

  function gather(kind: keyof typeof gathered, userId: string): void {
    gathered[kind].add(userId)
    gathering ??= setTimeout(flush, gatherMs)
  }

  return {
    publish(userId, hint = 'changed', reach = 'all') {
      local.publish(userId, hint, reach)
      if (!isClosed && reach !== 'here') gather(hint, userId)
    },
    subscribe(userId, listener) {
      const unsubscribe = local.subscribe(userId, listener)
      watchers.set(userId, (watchers.get(userId) ?? 0) + 1)
      gathered.unwatch.delete(userId)
      if (watchers.get(userId) === 1) gather('watch', userId)
      let isOver = false
      return () => {
        if (isOver) return
        isOver = true
        unsubscribe()
        const left = (watchers.get(userId) ?? 1) - 1
        if (left > 0) watchers.set(userId, left)
        else {
          watchers.delete(userId)
          gathered.watch.delete(userId)
          gather('unwatch', userId)
        }
      }
    },
    isWatched: (userId) => local.isWatched(userId) || elsewhere.has(userId, now()),
    publishWork(hint, reach = 'all') {
      local.publishWork(hint, reach)
      if (isClosed || reach === 'here') return
      work.set(JSON.stringify(hint), hint)
      gathering ??= setTimeout(flush, gatherMs)
    },
    onWork: (listener) => local.onWork(listener),
    publishOpened({ userId, browserId, epoch }) {
      const stream = { userId, browserId, epoch }
      if (isClosed || JSON.stringify(stream).length > LONGEST_STREAM_BYTES) return
      const key = JSON.stringify([userId, browserId])
      if ((opened.get(key)?.epoch ?? epoch) > epoch) return
      opened.set(key, stream)
      gathering ??= setTimeout(flush, gatherMs)
    },
    onOpened(listener) {
      hearers.add(listener)
      return () => hearers.delete(listener)
    },
    async close() {
      if (isClosed) return
      isClosed = true
      clearInterval(announcing)
      clearTimeout(gathering)
      clearTimeout(speaking)
      flush()
      await send([{ from: own, kind: 'bye', users: [] }])
      await channel.close()
    },
  }
}
