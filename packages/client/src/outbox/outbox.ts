import type { Task } from '@holdfast/shared'
import type { KeptRecord } from '../cache/kept.ts'
import { backoff } from '../connection/backoff.ts'
import { childAbort } from '../environment/child-abort.ts'
import { type Clock, sleep } from '../environment/clock.ts'
import { HoldfastError, mayPass, signedOut } from '../holdfast-error.ts'
import type { Intent, Intents } from './intent.ts'

const EXPIRES_MS = 24 * 60 * 60 * 1_000

export interface Outbox {
  /** Keeps it, then begins to send. Resolves with whether it is on disk, before anything has been sent. */
  add(
    intent: Omit<Intent, 'sender' | 'claimedAt' | 'failure'>,
  ): Promise<{ durable: boolean; task: Promise<Task> }>
  /** Takes up what other pages have left behind: those that no longer answer. Also shows what there is. */
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
  tabId: string
  clock: Clock
  random(): number
  serverNow(): number
  session: AbortSignal
  /** Whether a page that has claimed something is still there. */
  isAlive(tabId: string, since: number): Promise<boolean>
  send(intent: Intent): Promise<Task>
  /** The server has it. Called before it leaves the outbox, so that nothing disappears in between. */
  onSent(intent: Intent, task: Task): void
  onFailed(intent: Intent, error: HoldfastError): void
  onChange(intents: Intents): void
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
 * leaves the intent and its key behind, and the next one sends it. One page sends each, as its `sender`.
 */
export function createOutbox(options: OutboxOptions): Outbox {
  const { record, tabId, clock, session } = options
  const underWay = new Set<string>()
  const answers = new Map<string, Answer>()
  let wakeUp = childAbort(session)
  let known: Intents = {}

  function show(intents: Intents) {
    if (session.aborted) return
    known = intents
    options.onChange(intents)
  }

  /** One transaction; then everyone sees the outcome. */
  async function change(to: (intents: Intents) => Intents): Promise<boolean> {
    let now: Intents = {}
    const durable = await record.change((held) => {
      now = to(held ?? {})
      return now
    })
    show(now)
    if (!session.aborted) options.tellOthers()
    return durable
  }

  const put = (intent: Intent) => change((intents) => ({ ...intents, [intent.key]: intent }))
  const remove = (key: string) => change(({ [key]: _, ...rest }) => rest)

  /** One per key, however often it is asked for. */
  function answerOf(key: string): Promise<Task> {
    const known = answers.get(key)
    if (known) return known.task
    let settle: Pick<Answer, 'resolve' | 'reject'> | undefined
    const task = new Promise<Task>((resolve, reject) => {
      settle = { resolve, reject }
    })
    // Whoever does not look at it has the placeholder, which shows the failure as well.
    task.catch(() => {})
    session.addEventListener('abort', () => settle?.reject(signedOut()))
    if (settle) answers.set(key, { task, ...settle })
    return task
  }

  /** Until there is an answer, a clear no, or no use in trying any more. Null: the session has ended. */
  async function deliver(intent: Intent): Promise<Task | HoldfastError | null> {
    for (let attempt = 0; !session.aborted; attempt++) {
      if (options.serverNow() - intent.createdAt >= EXPIRES_MS) {
        return new HoldfastError('NOT_SENT', 'Not sent for a day. Send it again.')
      }
      try {
        return await options.send(intent)
      } catch (error) {
        if (!mayPass(error)) return error as HoldfastError
        const pause = Math.max(error.retryAfterMs, backoff(attempt, options.random))
        await sleep(clock, pause, wakeUp.signal)
      }
    }
    return null
  }

  async function send(intent: Intent) {
    const { key } = intent
    if (underWay.has(key)) return
    underWay.add(key)
    const outcome = await deliver(intent)
    // From here on the same key again is a new try.
    const answer = answers.get(key)
    answers.delete(key)
    underWay.delete(key)
    if (session.aborted || !outcome) return
    if (!(outcome instanceof HoldfastError)) {
      options.onSent(intent, outcome)
      answer?.resolve(outcome)
      await remove(key)
      return
    }
    answer?.reject(outcome)
    options.onFailed(intent, outcome)
    const { code, message } = outcome
    // A retry that was refused leaves the task it was to repeat in its place.
    if (intent.retryOf !== null) await remove(key)
    else await put({ ...intent, failure: { code, message, retryable: code === 'NOT_SENT' } })
  }

  const isAbandoned = async ({ sender, claimedAt }: Intent) =>
    sender === tabId || !(await options.isAlive(sender, claimedAt))

  async function take(intent: Intent): Promise<Intent | undefined> {
    let mine: Intent | undefined
    await change((intents) => {
      const held = intents[intent.key]
      mine = held?.sender === intent.sender ? { ...held, sender: tabId, claimedAt: clock.now() } : undefined
      return mine ? { ...intents, [intent.key]: mine } : intents
    })
    return mine
  }

  async function look(): Promise<Intents> {
    const intents = (await record.read()) ?? {}
    show(intents)
    return intents
  }

  async function add(given: Parameters<Outbox['add']>[0]) {
    const intent: Intent = { ...given, sender: tabId, claimedAt: clock.now(), failure: null }
    const task = answerOf(intent.key)
    // It shows as soon as it is written and no sooner: what a person has seen must not be lost (tried: a tab that
    // crashed as its card appeared).
    const durable = await put(intent)
    if (session.aborted) throw signedOut()
    void send(intent)
    return { durable, task }
  }

  return {
    add,
    async adopt() {
      const waiting = Object.values(await look()).filter(({ key, failure }) => !failure && !underWay.has(key))
      await Promise.all(
        waiting.map(async (intent) => {
          if (session.aborted || !(await isAbandoned(intent)) || session.aborted) return
          const mine = await take(intent)
          if (mine && !session.aborted) await send(mine)
        }),
      )
    },
    look: async () => void (await look()),
    wake() {
      wakeUp.abort()
      wakeUp = childAbort(session)
    },
    async resend(key) {
      const intent = known[key]
      if (intent) await add({ ...intent, createdAt: options.serverNow() })
    },
    discard: async (key) => void (await remove(key)),
  }
}
