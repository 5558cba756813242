import { asRecord, parseJson } from '../../read-json.ts'
import { endOf, type SimulatedTask, startOf } from '../../simulation/simulated-task.ts'
import type { WebhookEvent } from '../../simulation/webhooks.ts'

/** Only the end is told again if nobody took it. Without a filter, outputs and the end are told. */
export function eventsOfTask(task: SimulatedTask): WebhookEvent[] {
  const filter = asRecord(parseJson(task.request))?.webhook_events_filter
  const wanted = Array.isArray(filter) ? filter : ['output', 'completed']
  const end = endOf(task)
  const began = startOf(task)
  const hasBegun = began !== null && (end === null || began < end)
  const events: WebhookEvent[] = []
  if (hasBegun) {
    events.push({ name: 'start', at: began, isRetried: false })
    const middle = end === null ? began + 1_000 : (began + end) / 2
    events.push({ name: 'logs', at: middle, isRetried: false })
  }
  if (end !== null) {
    if (task.ending === 'succeeded') events.push({ name: 'output', at: end, isRetried: false })
    events.push({ name: 'completed', at: end, isRetried: true })
  }
  const told = events.filter(({ name }) => wanted.includes(name))
  return 'hook-reversed' in task.behaviours ? told.reverse() : told
}
