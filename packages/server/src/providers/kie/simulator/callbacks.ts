import { setTimeout as sleep } from 'node:timers/promises'
import { signCallback } from './sign-callback.ts'
import { creditsFor, endOf, phaseAt, type SimulatedTask } from './simulated-task.ts'

export interface CallbackOptions {
  now: () => number
  /** The record as `recordInfo` would show it. */
  recordOf: (task: SimulatedTask) => Record<string, unknown>
  remainedCredits: () => number
  hmacKey: string | undefined
  retryMs: number
  onDelivered: (task: SimulatedTask) => void
  log: (line: string) => void
}

const ATTEMPTS = 3
const CALL_LIMIT_MS = 15_000
/** Longer delays overflow a timer. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

/** Calls a task's `callBackUrl` when it ends: three attempts, then never again. */
export function createCallbacks(options: CallbackOptions) {
  const stopped = new AbortController()
  const timers = new Set<NodeJS.Timeout>()

  const watch = (task: SimulatedTask) => {
    const end = endOf(task)
    if (!task.callBackUrl || task.calledBack || end === null || stopped.signal.aborted) return
    const delay = Math.min(Math.max(end - options.now(), 0), LONGEST_TIMER_MS)
    const timer = setTimeout(() => {
      timers.delete(timer)
      if (task.calledBack) return
      // An injected clock may be behind the timer.
      if (options.now() < end) watch(task)
      else void deliver(task, task.callBackUrl ?? '')
    }, delay)
    timer.unref()
    timers.add(timer)
  }

  const deliver = async (task: SimulatedTask, url: string) => {
    const failed = phaseAt(task, options.now()) === 'fail'
    const body = JSON.stringify({
      code: failed ? 501 : 200,
      msg: failed ? 'Generation failed' : 'Playground task completed successfully.',
      data: {
        ...options.recordOf(task),
        ...(failed ? { resultJson: null } : {}),
        consumeCredits: failed ? 0 : creditsFor(task),
        remainedCredits: options.remainedCredits(),
      },
    })
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      try {
        const timestamp = Math.floor(options.now() / 1000)
        const response = await fetch(url, {
          method: 'POST',
          redirect: 'manual',
          headers: {
            'content-type': 'application/json',
            ...(options.hmacKey
              ? {
                  'x-webhook-timestamp': String(timestamp),
                  'x-webhook-signature': signCallback(options.hmacKey, task.taskId, timestamp),
                }
              : {}),
          },
          body,
          signal: AbortSignal.any([stopped.signal, AbortSignal.timeout(CALL_LIMIT_MS)]),
        })
        await response.body?.cancel()
        if (response.ok) {
          task.calledBack = true
          return options.onDelivered(task)
        }
        options.log(`callback ${attempt} for ${task.taskId}: HTTP ${response.status}`)
      } catch {
        if (stopped.signal.aborted) return
        options.log(`callback ${attempt} for ${task.taskId}: no answer`)
      }
      // Ends early only when the simulator stops.
      await sleep(options.retryMs, undefined, { signal: stopped.signal, ref: false }).catch(() => undefined)
      if (stopped.signal.aborted) return
    }
    task.calledBack = true
    options.onDelivered(task)
  }

  return {
    watch,
    stop() {
      stopped.abort()
      for (const timer of timers) clearTimeout(timer)
    },
  }
}
