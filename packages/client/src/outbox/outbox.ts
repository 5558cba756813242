import type { Task } from '@holdfast/shared'
import type { KeptRecord } from '../cache/kept.ts'
import { backoff } from '../connection/backoff.ts'
import { childAbort } from '../environment/child-abort.ts'
import { type Clock, sleep } from '../environment/clock.ts'
import { HoldfastError, mayPass, signedOut } from '../holdfast-error.ts'
import { type Intent, type Intents, isExpired, isIntent, readable } from './intent.ts'
import { type After, type IntentEvent, stepIntent } from './intent-states.ts'

/** How often a page looks for what others have left behind. With the two seconds for an answer, five at the most. */
const LOOK_MS = 2_000
/** The same while nothing waits, as far as this page knows: a page that crashed may not have said so. */
const LOOK_IDLE_MS = 30_000
/** Twice what a request may take: what the server has not got by then, it does not get. */
const ARRIVES_WITHIN_MS = 60_000

export type NewIntent = Pick<Intent, 'key' | 'body' | 'retryOf'>

export interface Outbox {
  /** Keeps it, then begins to send. Resolves with whether it is on disk, before anything has been sent. */
  add(intent: NewIntent): Promise<{ durable: boolean; task: Promise<Task> }>
  /** Takes over what other pages have left behind: those that no longer answer. Also shows what there is. */
  adopt(): Promise<void>
  /** Shows what there is, without sending. */
  look(): Promise<void>
  /** The network may be back: do not wait any longer. */
  wake(): void
  /** Tries a failed one again. */
  resend(key: string): Promise<void>
  discard(key: string): Promise<void>
}

export interface OutboxOptions {
  record: KeptRecord<Intents>
  /** Names this page for as long as the session lasts … */
  page: string
  /** … and this tab across its reloads. */
  tab: string
  clock: Clock
  random(): number
  /** Server clock minus this device's; null until the server has been heard. */
  offset(): number | null
  /** Asks the server, so that `offset` is right by this device's clock as it is now, and `findTask` knows all tasks. */
  askServer(): Promise<void>
  session: AbortSignal
  /** False once the user has signed out, in whichever tab. */
  mayAdd(): boolean
  /** Whether this page may send what others left behind: it leads, or somebody looks at it. */
  mayAdopt(): boolean
  /** Whether a page that has claimed something is still there. */
  isAlive(page: string, since: number): Promise<boolean>
  send(intent: Intent): Promise<Task>
  /** The server has it. Called before it leaves the outbox, so that nothing disappears in between. */
  onSent(intent: Intent, task: Task): void
  /** The server has it, but the user has discarded it: has it cancelled. Rejects when it has to be tried again. */
  cancel(task: Task): Promise<void>
  onFailed(intent: Intent, error: HoldfastError): void
  onChange(intents: Intent[]): void
  /** The task that came of an intent which another page sent. */
  findTask(intent: Intent): Task | undefined
  /** Other pages should look. */
  tellOthers(): void
}

interface Answer {
  task: Promise<Task>
  resolve(task: Task): void
  reject(error: unknown): void
}

/**
 * What is to be sent, on disk before it goes over the network: a page, a tab or a browser that dies at any point
 * leaves the intent and its key behind, and the next one sends it. What may become of one is in `intent-states.ts`;
 * this is the disk, the network and the time around it.
 */
export function createOutbox(options: OutboxOptions): Outbox {
  const { record, page, tab, clock, session } = options
  /** What this page sends, until its outcome is on disk. */
  const underWay = new Set<string>()
  const answers = new Map<string, Answer>()
  /** What waits for its next try: until when it must, and how to end the wait. */
  const asleep = new Map<string, { until: number; end(): void }>()
  let adopting: Promise<void> | undefined
  let nextLook: { at: number; callOff(): void } | undefined
  let known: Intent[] = []

  function show(intents: Intents | undefined) {
    if (session.aborted) return
    known = readable(intents)
    options.onChange(known.filter(({ state }) => state !== 'recalled'))
    // It was sent or discarded: there is nothing to wait for.
    for (const [key, { end }] of asleep) {
      if (!known.some((intent) => intent.key === key && intent.state !== 'recalled')) end()
    }
    lookLater()
  }

  /** One transaction; then everyone sees the outcome. Undefined leaves it as it is. */
  async function change(key: string, to: (held: Intent | undefined) => Intent | null | undefined) {
    let now: Intents = {}
    let isChanged = false
    const durable = await record.change((intents = {}) => {
      const held = intents[key]
      const next = to(isIntent(held) ? held : undefined)
      const { [key]: _, ...others } = intents
      isChanged = next !== undefined
      now = isChanged ? { ...others, ...(next && { [key]: next }) } : intents
      return now
    })
    show(now)
    if (isChanged && !session.aborted) options.tellOthers()
    return durable
  }

  /** What the event made of it; `before` is undefined when it is not there any more. */
  async function apply(
    key: string,
    event: IntentEvent,
  ): Promise<{ before: Intent | undefined; after: After }> {
    let before: Intent | undefined
    let after: After = null
    await change(key, (held) => {
      before = held
      after = held ? stepIntent(held, event) : null
      if (after === null) return undefined
      return typeof after === 'string' ? null : after
    })
    return { before, after }
  }

  /** One per key, however often it is asked for. */
  function answerOf(key: string): Promise<Task> {
    const held = answers.get(key)
    if (held) return held.task
    const { promise, resolve, reject } = withResolvers<Task>()
    // Whoever does not look at it has the placeholder, which shows the failure as well.
    promise.catch(() => {})
    session.addEventListener('abort', () => reject(signedOut()))
    answers.set(key, { task: promise, resolve, reject })
    return promise
  }

  /** From here on the same key again is a new try. */
  function settle(key: string, outcome: Task | HoldfastError) {
    const answer = answers.get(key)
    answers.delete(key)
    if (outcome instanceof HoldfastError) answer?.reject(outcome)
    else answer?.resolve(outcome)
  }

  async function accepted(intent: Intent, task: Task) {
    const { key } = intent
    const isWanted = known.find((held) => held.key === key)?.state !== 'recalled'
    if (isWanted) options.onSent(intent, task)
    settle(key, task)
    const { before } = await apply(key, { kind: 'accept' })
    // Discarded in this tab or in another one, while the request was under way.
    if (before?.state === 'recalled') await cancelRecalled(key, task)
  }

  /** First at the server, then here: a page that dies in between, or has no network, leaves it to the next look. */
  async function cancelRecalled(key: string, task: Task) {
    if (!session.aborted && (await works(options.cancel(task)))) await apply(key, { kind: 'conclude' })
  }

  async function failed(intent: Intent, kind: 'refuse' | 'expire', error: HoldfastError) {
    const { code, message } = error
    const failure = { code, message, retryable: kind === 'expire' }
    const { before, after } = await apply(intent.key, { kind, sender: page, failure })
    settle(intent.key, error)
    // Told once, by the page that made the change.
    if (after !== null && before?.state !== 'recalled' && !session.aborted) options.onFailed(intent, error)
  }

  /** It was sent or discarded by another page, or by the user in this one. */
  function letGo(intent: Intent) {
    settle(intent.key, options.findTask(intent) ?? notSent('It was taken off the list before it was sent.'))
  }

  /** Until it is answered, or is no longer ours. It is ours now, and `sending` on disk. */
  async function deliver(claimed: Intent) {
    const { key } = claimed
    if (underWay.has(key)) return
    underWay.add(key)
    try {
      let intent = claimed
      for (let attempt = 0; ; attempt++) {
        if (seemsTooOld(intent) && (await isTooOld(intent))) {
          return await failed(intent, 'expire', notSent('Not sent for a day. Send it again.'))
        }
        const outcome = await attemptOnce(() => options.send(intent))
        if (session.aborted) return
        if (!(outcome instanceof HoldfastError)) return await accepted(intent, outcome)
        if (!mayPass(outcome)) return await failed(intent, 'refuse', outcome)

        const pause = Math.max(outcome.retryAfterMs, backoff(attempt, options.random))
        const retryAt = new Date(clock.now() + (options.offset() ?? 0) + pause).toISOString()
        const waiting = { reason: outcome.code, message: outcome.message, retryAt }
        const putOff = await apply(key, { kind: 'put-off', sender: page, waiting })
        if (!isIntent(putOff.after)) return letGo(intent)
        await rest(key, pause, outcome.retryAfterMs)
        if (session.aborted) return
        const { after } = await claim(intent, page)
        if (!isIntent(after)) return letGo(intent)
        intent = after
      }
    } finally {
      underWay.delete(key)
    }
  }

  const seemsTooOld = (intent: Intent) => isExpired(intent, clock.now(), options.offset())

  /** Not by what was heard of the server's clock long ago: this device's may have been set since. */
  async function isTooOld(intent: Intent) {
    // Without a network it is as it seems.
    await options.askServer().catch(() => {})
    return seemsTooOld(intent)
  }

  /** `wake` ends it, but not before the time that the server asked for. */
  async function rest(key: string, ms: number, atLeast: number) {
    const nap = childAbort(session)
    asleep.set(key, { until: clock.now() + atLeast, end: nap.abort })
    await sleep(clock, ms, nap.signal)
    nap.abort()
    asleep.delete(key)
  }

  const claim = ({ key }: Intent, from: string) =>
    apply(key, { kind: 'claim', from, sender: page, senderTab: tab, at: clock.now() })

  async function isGone(sender: string, [{ senderTab, claimedAt }]: [Intent, ...Intent[]]) {
    // A tab has one page at a time, and this is it.
    if (sender === page || senderTab === tab) return true
    return options.mayAdopt() && !(await options.isAlive(sender, claimedAt))
  }

  async function adoptOne(intent: Intent) {
    if (session.aborted || underWay.has(intent.key)) return
    if (intent.state === 'recalled') return concludeRecalled(intent)
    const { after } = await claim(intent, intent.sender)
    if (isIntent(after) && !session.aborted) void deliver(after)
  }

  /** Nobody waits for an answer any more: the tasks of this user tell whether the server took it. */
  async function concludeRecalled(intent: Intent) {
    const { key, body } = intent
    // A placeholder that the app named, or a retry's, may be another submit's by now. Only our own is surely its own.
    if (body.placeholderId === key) {
      // Without a network another look asks again.
      if (!options.findTask(intent) && (mayArrive(intent) || !(await works(options.askServer())))) return
      const task = options.findTask(intent)
      if (task) return cancelRecalled(key, task)
    }
    await apply(key, { kind: 'conclude' })
  }

  /** By this device's clock, which may have been set since, in either direction. */
  const mayArrive = ({ claimedAt }: Intent) => Math.abs(clock.now() - claimedAt) < ARRIVES_WITHIN_MS

  const isOpen = ({ key, failure }: Intent) => !failure && !underWay.has(key)

  /** Without a network, one that was recalled long ago is not asked about every few seconds. */
  const isUrgent = (intent: Intent) => isOpen(intent) && (intent.state !== 'recalled' || mayArrive(intent))

  /** Each page is asked once, however much it had taken upon itself. */
  async function adopt() {
    await look()
    const bySender = new Map<string, [Intent, ...Intent[]]>()
    for (const intent of known.filter(isOpen)) {
      const others = bySender.get(intent.sender)
      if (others) others.push(intent)
      else bySender.set(intent.sender, [intent])
    }
    await Promise.all(
      [...bySender].map(async ([sender, intents]) => {
        if (await isGone(sender, intents)) await Promise.all(intents.map(adoptOne))
      }),
    )
  }

  async function look() {
    show(await record.read())
  }

  function lookLater() {
    const ms = known.some(isUrgent) ? LOOK_MS : LOOK_IDLE_MS
    const at = clock.now() + ms
    if (session.aborted || (nextLook && nextLook.at <= at)) return
    nextLook?.callOff()
    const callOff = clock.after(ms, () => {
      nextLook = undefined
      if (options.mayAdopt()) void startAdopting()
      lookLater()
    })
    nextLook = { at, callOff }
  }

  /** One round at a time: a page that does not answer is asked once. */
  function startAdopting() {
    adopting ??= adopt().finally(() => {
      adopting = undefined
    })
    return adopting
  }

  async function sendNew(given: NewIntent) {
    const at = clock.now()
    const intent: Intent = {
      ...given,
      createdAt: at,
      offset: options.offset(),
      madeBy: tab,
      state: 'sending',
      sender: page,
      senderTab: tab,
      claimedAt: at,
      waiting: null,
      failure: null,
    }
    const task = answerOf(intent.key)
    // It shows as soon as it is written and no sooner: what a person has seen must not be lost (tried: a tab that
    // crashed as its card appeared).
    const durable = await change(intent.key, () => (options.mayAdd() ? intent : undefined))
    if (session.aborted || !options.mayAdd()) throw signedOut()
    void deliver(intent)
    return { durable, task }
  }

  session.addEventListener('abort', () => nextLook?.callOff())
  lookLater()
  return {
    add: sendNew,
    adopt: startAdopting,
    look,
    wake() {
      for (const { until, end } of asleep.values()) if (clock.now() >= until) end()
    },
    async resend(key) {
      const { after } = await apply(key, {
        kind: 'resend',
        sender: page,
        senderTab: tab,
        at: clock.now(),
        offset: options.offset(),
      })
      if (!isIntent(after) || session.aborted) return
      answerOf(key)
      void deliver(after)
    },
    async discard(key) {
      // Who waits for an answer is told by the page that sends it: it is no longer its to send.
      await apply(key, { kind: 'discard' })
    },
  }
}

const notSent = (message: string) => new HoldfastError('NOT_SENT', message)

/** The task, or why there is none. What a transport throws that is no `HoldfastError` decides nothing: it is tried again. */
async function attemptOnce(send: () => Promise<Task>): Promise<Task | HoldfastError> {
  try {
    const task = await send()
    if (task?.id) return task
    return new HoldfastError('NETWORK', 'The server answered without a task. It is asked again.')
  } catch (cause) {
    if (cause instanceof HoldfastError) return cause
    return new HoldfastError('NETWORK', 'The server did not answer. It is asked again.', { cause })
  }
}

const works = (call: Promise<void>) =>
  call.then(
    () => true,
    () => false,
  )

/** `Promise.withResolvers` is younger than the browsers we serve. */
function withResolvers<T>() {
  let resolve: (value: T) => void = () => {}
  let reject: (reason: unknown) => void = () => {}
  const promise = new Promise<T>((yes, no) => {
    resolve = yes
    reject = no
  })
  return { promise, resolve, reject }
}
