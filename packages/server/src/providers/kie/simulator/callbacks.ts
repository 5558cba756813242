import { endOf, type SimulatedTask } from '../../simulation/simulated-task.ts'
import { createWebhooks } from '../../simulation/webhooks.ts'
import { signKieCallback } from '../../webhook-signatures/kie-hmac.ts'
import { creditsFor, phaseAt } from './simulated-task.ts'

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

/** Calls a task's `callBackUrl` when it ends: three attempts, then never again. */
export function createCallbacks({ recordOf, remainedCredits, hmacKey, ...options }: CallbackOptions) {
  return createWebhooks<SimulatedTask>({
    ...options,
    attempts: 3,
    eventsOf: (task) => {
      const end = endOf(task)
      return end === null ? [] : [{ name: 'end', at: end, isRetried: true }]
    },
    bodyOf(task) {
      const failed = phaseAt(task, options.now()) === 'fail'
      return JSON.stringify({
        code: failed ? 501 : 200,
        msg: failed ? 'Generation failed' : 'Playground task completed successfully.',
        data: {
          ...recordOf(task),
          ...(failed ? { resultJson: null } : {}),
          consumeCredits: failed ? 0 : creditsFor(task),
          remainedCredits: remainedCredits(),
        },
      })
    },
    sign(task, _event, _body, atMs, fault): Record<string, string> {
      if (!hmacKey || fault === 'unsigned') return {}
      const timestamp = Math.floor(atMs / 1000)
      const key = fault === 'forged' ? `not ${hmacKey}` : hmacKey
      return {
        'x-webhook-timestamp': String(timestamp),
        'x-webhook-signature': signKieCallback(key, task.taskId, timestamp),
      }
    },
  })
}
