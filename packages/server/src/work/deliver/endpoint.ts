/** What an app can be told of. */
export const TASK_EVENTS = [
  'task.submitted',
  'task.started',
  'task.progress',
  'task.completed',
  'task.failed',
  'task.cancelled',
  'task.dead_lettered',
] as const
export type TaskEvent = (typeof TASK_EVENTS)[number]

/** A URL of the app's own that is told of its tasks by signed webhooks. */
export interface WebhookEndpoint {
  /** Unique, and kept when the URL changes: what has not been delivered yet belongs to it. */
  name: string
  url: string
  /** `whsec_` and base64, as Standard Webhooks has it. The receiver checks signatures with the same. */
  secret: string
  /** @default all but `task.progress` */
  events?: readonly TaskEvent[]
}

const SHORTEST_SECRET_BYTES = 24

/** Refuses settings that cannot work, before anything is sent. */
export function checkEndpoints(endpoints: readonly WebhookEndpoint[]): void {
  const names = new Set<string>()
  for (const { name, url, secret, events = [] } of endpoints) {
    if (names.has(name))
      throw new Error(`There are two webhook endpoints named "${name}". Names must be unique.`)
    names.add(name)
    if (!/^https?:$/.test(URL.parse(url)?.protocol ?? '')) {
      throw new Error(`The webhook endpoint "${name}" needs an http or https URL.`)
    }
    const key = secret.startsWith('whsec_') ? Buffer.from(secret.slice(6), 'base64') : null
    if (!key || key.length < SHORTEST_SECRET_BYTES) {
      throw new Error(
        `The secret of the webhook endpoint "${name}" must be whsec_ and the base64 of at least ${SHORTEST_SECRET_BYTES} bytes. Make one with: echo whsec_$(openssl rand -base64 32)`,
      )
    }
    const unknown = events.find((event) => !TASK_EVENTS.includes(event))
    if (unknown) {
      throw new Error(
        `"${unknown}" of the webhook endpoint "${name}" is no event. There are: ${TASK_EVENTS.join(', ')}.`,
      )
    }
  }
}

export function eventsOf({ events }: WebhookEndpoint): readonly TaskEvent[] {
  return events ?? TASK_EVENTS.filter((event) => event !== 'task.progress')
}
