import { setTimeout as sleep } from 'node:timers/promises'
import type { Behaviours } from './behaviours.ts'

/** One thing that happens to a task and that the vendor calls back about. */
export interface WebhookEvent {
  /** One delivery per name, however often it is tried. */
  name: string
  at: number
  /** Sent again if it was not taken. */
  isRetried: boolean
}

/** What a webhook needs to know of a task. */
export interface WebhookTask {
  taskId: string
  callbackUrl: string | null
  behaviours: Behaviours
  delivered: string[]
}

/** How to spoil a signature; null for a good one. */
export type SignatureFault = 'forged' | 'unsigned' | null

export interface WebhookOptions<Task extends WebhookTask> {
  now: () => number
  eventsOf: (task: Task) => WebhookEvent[]
  bodyOf: (task: Task, event: WebhookEvent) => string
  /** Headers that prove the body, as signed at the time given. */
  sign: (
    task: Task,
    event: WebhookEvent,
    body: string,
    atMs: number,
    fault: SignatureFault,
  ) => Record<string, string>
  attempts: number
  retryMs: number
  onDelivered: (task: Task) => void
  log: (line: string) => void
}

const CALL_LIMIT_MS = 15_000
/** Longer delays overflow a timer. */
const LONGEST_TIMER_MS = 2 ** 31 - 1
const OFF_BY_MS = 600_000

/** Calls a task's URL when something happens to it, as well or as badly as its behaviours say. */
export function createWebhooks<Task extends WebhookTask>(options: WebhookOptions<Task>) {
  const { now } = options
  const stopped = new AbortController()
  const timers = new Set<NodeJS.Timeout>()
  const sending = new Map<string, Promise<void>>()

  const dueAt = (task: Task, event: WebhookEvent) =>
    event.at + ('hook-late' in task.behaviours ? (task.behaviours['hook-late'] ?? 5) * 1000 : 0)
  const waiting = (task: Task) => options.eventsOf(task).filter(({ name }) => !task.delivered.includes(name))

  const post = async (task: Task, event: WebhookEvent, attempt: number): Promise<boolean> => {
    const { behaviours, callbackUrl } = task
    const body = options.bodyOf(task, event)
    const offMs = 'hook-stale' in behaviours ? -OFF_BY_MS : 'hook-future' in behaviours ? OFF_BY_MS : 0
    const fault = 'hook-forged' in behaviours ? 'forged' : 'hook-unsigned' in behaviours ? 'unsigned' : null
    try {
      const response = await fetch(callbackUrl ?? '', {
        method: 'POST',
        redirect: 'manual',
        headers: {
          'content-type': 'application/json',
          ...options.sign(task, event, body, now() + offMs, fault),
        },
        body: 'hook-altered' in behaviours ? altered(body) : body,
        signal: AbortSignal.any([stopped.signal, AbortSignal.timeout(CALL_LIMIT_MS)]),
      })
      await response.body?.cancel()
      if (response.ok) return true
      options.log(`callback ${attempt} for ${task.taskId}: HTTP ${response.status}`)
    } catch {
      if (!stopped.signal.aborted) options.log(`callback ${attempt} for ${task.taskId}: no answer`)
    }
    return false
  }

  const deliver = (task: Task, event: WebhookEvent): Promise<void> => {
    const key = `${task.taskId} ${event.name}`
    const sent = sending.get(key) ?? tryToDeliver(task, event).finally(() => sending.delete(key))
    sending.set(key, sent)
    return sent
  }

  const tryToDeliver = async (task: Task, event: WebhookEvent) => {
    const attempts = event.isRetried ? options.attempts : 1
    for (let attempt = 1; attempt <= attempts; attempt++) {
      const taken = await post(task, event, attempt)
      if (stopped.signal.aborted) return
      if (taken) break
      // Ends early only when the simulator stops.
      await sleep(options.retryMs, undefined, { signal: stopped.signal, ref: false }).catch(() => undefined)
      if (stopped.signal.aborted) return
    }
    if ('hook-twice' in task.behaviours) await post(task, event, 1)
    task.delivered.push(event.name)
    options.onDelivered(task)
  }

  const watchEvent = (task: Task, event: WebhookEvent) => {
    const timer = setTimeout(
      () => {
        timers.delete(timer)
        const current = waiting(task).find(({ name }) => name === event.name)
        if (!current || stopped.signal.aborted) return
        // An injected clock may be behind the timer, and the event may have been put off.
        if (now() < dueAt(task, current)) watchEvent(task, current)
        else void deliver(task, current)
      },
      Math.min(Math.max(dueAt(task, event) - now(), 0), LONGEST_TIMER_MS),
    )
    timer.unref()
    timers.add(timer)
  }

  /** Sees to it that what happens is told. Call it again after a task's times have changed. */
  const watch = (task: Task) => {
    if (!task.callbackUrl || 'hook-none' in task.behaviours || stopped.signal.aborted) return
    for (const event of waiting(task)) watchEvent(task, event)
  }

  return {
    watch,
    /** Sends now whatever is due by the clock, and waits until it has been sent. */
    async flush(tasks: Iterable<Task>) {
      await Promise.all(
        [...tasks].map(async (task) => {
          if (!task.callbackUrl || 'hook-none' in task.behaviours) return
          for (const event of waiting(task)) if (dueAt(task, event) <= now()) await deliver(task, event)
        }),
      )
    },
    /** One call outside the plan: before the create is answered, or because a test wants it now. */
    send: (task: Task, event: WebhookEvent) => post(task, event, 1),
    stop() {
      stopped.abort()
      for (const timer of timers) clearTimeout(timer)
    },
  }
}

/** Another meaning in the same shape: whoever believes it instead of asking is misled. */
function altered(body: string): string {
  const text = body.replace(/"(succeeded|success|OK|completed|COMPLETED)"/, '"failed"')
  return text === body ? `${body} ` : text
}
