import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { asRecord } from '../../read-json.ts'
import { type Answer, type Reply, sendAnswer } from '../../simulation/reply.ts'
import type { NewTask, SimulatedTask } from '../../simulation/simulated-task.ts'
import type { Simulator, SimulatorOptions } from '../../simulation/simulator.ts'
import { startSimulator } from '../../simulation/start-simulator.ts'
import type { Call, Simulation } from '../../simulation/vendor.ts'
import { signStandardWebhook } from '../../webhook-signatures/standard-webhooks.ts'
import { eventsOfTask } from './events-of-task.ts'
import { predictionOfTask } from './prediction-of-task.ts'

export interface ReplicateSimulatorOptions extends SimulatorOptions {
  /** Signs webhooks; what `GET /webhooks/default/secret` gives out. */
  webhookSecret?: string
}

/** What words in brackets do at Replicate, beside the common ones. */
export const REPLICATE_BEHAVIOURS = {
  aborted: 'ends as "aborted": its time limit passed before it began',
  removed: 'success, but its data is removed already',
  'string-output': 'the output is one URL',
  'array-output': 'the output is a list of URLs',
  'object-output': 'the output is a record with URLs in it',
  'null-output': 'success with an output of null',
  'text-output': 'success with an output of words',
  'hook-reversed': 'the webhooks come in the wrong order',
} as const

const SECRET = 'whsec_c2ltdWxhdGVkLXJlcGxpY2F0ZS1zZWNyZXQtMDEyMw=='
const HOUR_MS = 60 * 60_000
const PAGE = 100
const HOLD_MS = 60_000

/** Replicate's predictions API on a port of its own, with results that can be fetched. */
export function startReplicateSimulator(options: ReplicateSimulatorOptions = {}): Promise<Simulator> {
  const secret = options.webhookSecret ?? SECRET
  const keptMs = options.fileTtlMs ?? HOUR_MS

  return startSimulator(options, (simulation) => {
    const { now } = simulation
    const baseUrl = () => `${simulation.publicUrl()}/v1`
    const predictionAt = (task: SimulatedTask, at: number) =>
      predictionOfTask(task, { now: at, baseUrl: baseUrl(), urls: simulation.urlsOf(task), keptMs })
    const show = (task: SimulatedTask): Reply => ({ status: 200, json: predictionAt(task, now()) })
    const create = { kind: 'create', method: 'POST', read: readCreate } as const
    const created = (task: SimulatedTask, call: Call): Answer => answerCreate(simulation, task, call, show)

    return {
      words: REPLICATE_BEHAVIOURS,
      endings: { aborted: 'cancelled' },
      rateLimit: { count: 600, windowMs: 60_000 },
      fileTtlMs: HOUR_MS,
      keyOf: ({ authorization }) => /^Bearer (\S+)$/.exec(authorization ?? '')?.[1] ?? null,
      newId: () => randomBytes(13).toString('hex'),
      error: tellError,
      routes: [
        { ...create, path: /^\/v1\/predictions$/, reply: created },
        {
          ...create,
          path: /^\/v1\/(?:models|deployments)\/(?<owner>[^/]+)\/(?<name>[^/]+)\/predictions$/,
          reply: created,
        },
        { kind: 'query', method: 'GET', path: /^\/v1\/predictions\/(?<id>[^/]+)$/, reply: show },
        {
          kind: 'task',
          method: 'POST',
          path: /^\/v1\/predictions\/(?<id>[^/]+)\/cancel$/,
          reply(task) {
            simulation.end(task, 'cancelled')
            return show(task)
          },
        },
        {
          kind: 'other',
          method: 'GET',
          path: /^\/v1\/predictions$/,
          reply({ url }) {
            const from = Number(url.searchParams.get('cursor') ?? 0)
            const newestFirst = [...simulation.tasks()].reverse()
            const more = newestFirst.length > from + PAGE
            return {
              status: 200,
              json: {
                previous: null,
                next: more ? `${baseUrl()}/predictions?cursor=${from + PAGE}` : null,
                results: newestFirst.slice(from, from + PAGE).map((task) => predictionAt(task, now())),
              },
            }
          },
        },
        {
          kind: 'other',
          method: 'GET',
          path: /^\/v1\/webhooks\/default\/secret$/,
          reply: () => ({ status: 200, json: { key: secret } }),
        },
      ],
      webhooks: {
        attempts: 5,
        eventsOf: eventsOfTask,
        // As it was when it happened, however late it comes.
        bodyOf: (task, event) => JSON.stringify(predictionAt(task, Math.min(event.at, now()))),
        sign(task, event, body, atMs, fault): Record<string, string> {
          if (fault === 'unsigned') return {}
          const id = `msg_${task.taskId}_${event.name}`
          const timestamp = Math.floor(atMs / 1000)
          const key =
            fault === 'forged' ? `whsec_${Buffer.from('not the secret').toString('base64')}` : secret
          return {
            'webhook-id': id,
            'webhook-timestamp': String(timestamp),
            'webhook-signature': signStandardWebhook(key, { id, timestamp, body }),
          }
        },
      },
    }
  })
}

function readCreate({ json, path }: Call): NewTask | Reply {
  const input = asRecord(json?.input)
  const model = path.name ? `${path.owner}/${path.name}` : json?.version
  if (typeof model !== 'string' || model === '') return invalid('version', 'version is required')
  if (!input) return invalid('input', 'input is required')
  const { prompt, webhook } = { prompt: input.prompt, webhook: json?.webhook }
  if (typeof prompt !== 'string' || prompt.trim() === '') return invalid('input.prompt', 'prompt is required')
  if (webhook !== undefined && (typeof webhook !== 'string' || !URL.canParse(webhook))) {
    return invalid('webhook', 'webhook is not a URL')
  }
  return {
    model,
    prompt,
    aspectRatio: String(input.aspect_ratio ?? ''),
    outputs: Number(input.num_outputs ?? 1),
    callbackUrl: webhook ?? null,
  }
}

/** `Prefer: wait` holds the request until the end, a minute at most. */
function answerCreate(
  simulation: Simulation,
  task: SimulatedTask,
  { headers }: Call,
  show: (task: SimulatedTask) => Reply,
): Answer {
  const [, seconds] = /^wait(?:=(\d+))?$/.exec(String(headers.prefer ?? '')) ?? []
  if (!/^wait/.test(String(headers.prefer ?? ''))) return { ...show(task), status: 201 }
  return async (response) => {
    const until = Date.now() + (seconds ? Number(seconds) * 1000 : HOLD_MS)
    const hasEnded = () => simulation.stateOf(task).endedAt !== null
    while (!hasEnded() && Date.now() < until && !response.destroyed)
      await sleep(20, undefined, { ref: false })
    await sendAnswer(response, { ...show(task), status: hasEnded() ? 201 : 202 })
  }
}

function tellError(status: number, detail: string): Reply {
  // The only place where it says how long to wait.
  if (status === 429) {
    return { status, json: { detail: 'Request was throttled. Your rate limit resets in ~3s.' } }
  }
  return { status, json: { title: 'Error', detail, status } }
}

function invalid(field: string, description: string): Reply {
  return {
    status: 422,
    json: {
      title: 'Input validation failed',
      detail: `- ${field}: ${description}\n`,
      status: 422,
      invalid_fields: [{ type: 'required', field, description }],
    },
  }
}
