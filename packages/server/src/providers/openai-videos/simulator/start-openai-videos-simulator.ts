import { randomBytes } from 'node:crypto'
import { bearerKeyOf } from '../../simulation/bearer-key.ts'
import type { Reply } from '../../simulation/reply.ts'
import { endOf, type NewTask, type SimulatedTask } from '../../simulation/simulated-task.ts'
import type { Simulator, SimulatorOptions } from '../../simulation/simulator.ts'
import { startSimulator } from '../../simulation/start-simulator.ts'
import type { Call } from '../../simulation/vendor.ts'
import { signStandardWebhook } from '../../webhook-signatures/standard-webhooks.ts'
import { readFields } from './read-fields.ts'
import { expiryOf, OPENAI_VIDEOS_WORDS, videoObject } from './video-object.ts'

export interface OpenAiVideosSimulatorOptions extends SimulatorOptions {
  /** Where the project's events go, and what signs them: set once for all videos, not per create. */
  webhook?: { url: string; secret: string }
}

export interface OpenAiVideosSimulator extends Simulator {
  /** Sets where the events of videos go that are created from now on. */
  setWebhook(webhook: { url: string; secret: string }): void
}

const HOUR_MS = 60 * 60_000
const SECONDS = new Set(['4', '8', '12', '16', '20'])
const SIZE = /^\d{3,4}x\d{3,4}$/
const OTHER_SECRET = 'whsec_c29tZWJvZHkgZWxzZQ=='

/** A gateway with OpenAI's videos API on a port of its own, below `/v1`. */
export async function startOpenAiVideosSimulator(
  options: OpenAiVideosSimulatorOptions = {},
): Promise<OpenAiVideosSimulator> {
  const { fileTtlMs = HOUR_MS } = options
  let { webhook } = options
  const simulator = await startSimulator(options, (simulation) => {
    const error = (status: number, message: string): Reply => ({
      status,
      json: { error: { message, type: typeOf(status), param: null, code: null } },
    })
    const notFound = error(404, 'Video not found')
    const isDeleted = (task: SimulatedTask) => 'deleted' in task.behaviours
    const shown = (task: SimulatedTask) => videoObject(task, simulation.stateOf(task), fileTtlMs)

    function read({ body }: Call): NewTask | Reply {
      const fields = readFields(body.toString('utf8'))
      if (!fields) return error(400, 'The body is neither JSON nor a form.')
      const { prompt, model = 'sora-2', seconds = '4', size = '720x1280' } = fields
      if (typeof prompt !== 'string' || prompt === '') return error(400, 'prompt is required')
      if (typeof seconds !== 'string' || !SECONDS.has(seconds)) {
        return error(400, "seconds must be one of '4', '8', '12'")
      }
      if (typeof size !== 'string' || !SIZE.test(size)) return error(400, 'size is not supported')
      return { model: String(model), prompt, makesVideo: true, callbackUrl: webhook?.url ?? null }
    }

    function list({ url }: Call): Reply {
      const { searchParams } = url
      const newestFirst = [...simulation.tasks()].filter((task) => !isDeleted(task)).reverse()
      const all = searchParams.get('order') === 'asc' ? newestFirst.reverse() : newestFirst
      const after = all.findIndex(({ taskId }) => taskId === searchParams.get('after')) + 1
      const page = all.slice(after, after + Number(searchParams.get('limit') ?? 20))
      return {
        status: 200,
        json: {
          object: 'list',
          data: page.map(shown),
          first_id: page[0]?.taskId ?? null,
          last_id: page.at(-1)?.taskId ?? null,
          has_more: after + page.length < all.length,
        },
      }
    }

    return {
      words: OPENAI_VIDEOS_WORDS,
      error,
      keyOf: bearerKeyOf,
      newId: () => `video_${randomBytes(16).toString('hex')}`,
      rateLimit: { count: 25, windowMs: 60_000 },
      fileTtlMs: HOUR_MS,
      webhooks: {
        eventsOf(task) {
          const end = endOf(task)
          const isGood = (task.endedEarly?.ending ?? task.ending) === 'succeeded'
          if (end === null) return []
          return [{ name: isGood ? 'video.completed' : 'video.failed', at: end, isRetried: true }]
        },
        bodyOf: (task, { name, at }) =>
          JSON.stringify({
            id: `evt_${task.taskId}`,
            object: 'event',
            created_at: Math.floor(at / 1000),
            type: name,
            data: { id: task.taskId },
          }),
        sign(task, { name }, body, atMs, fault): Record<string, string> {
          if (fault === 'unsigned' || !webhook) return {}
          const id = `wh_${task.taskId}_${name}`
          const timestamp = Math.floor(atMs / 1000)
          const secret = fault === 'forged' ? OTHER_SECRET : webhook.secret
          return {
            'webhook-id': id,
            'webhook-timestamp': String(timestamp),
            'webhook-signature': signStandardWebhook(secret, { id, timestamp, body }),
          }
        },
        attempts: 3,
      },
      routes: [
        {
          kind: 'create',
          method: 'POST',
          path: /^\/v1\/videos$/,
          read,
          reply: (task) => ({ status: 200, json: shown(task) }),
        },
        { kind: 'other', method: 'GET', path: /^\/v1\/videos$/, reply: list },
        {
          kind: 'query',
          method: 'GET',
          path: /^\/v1\/videos\/(?<id>[^/]+)$/,
          reply: (task) => (isDeleted(task) ? notFound : { status: 200, json: shown(task) }),
        },
        {
          kind: 'task',
          method: 'GET',
          path: /^\/v1\/videos\/(?<id>[^/]+)\/content$/,
          reply(task, { url }) {
            const expiresAt = expiryOf(task, fileTtlMs) ?? Number.POSITIVE_INFINITY
            const leftMs = Math.min(expiresAt - simulation.now(), fileTtlMs)
            const isThere = simulation.stateOf(task).phase === 'succeeded' && leftMs > 0 && !isDeleted(task)
            if (!isThere) return error(404, 'There is no content')
            if ((url.searchParams.get('variant') ?? 'video') !== 'video') {
              return error(400, 'The simulator has no variant but video')
            }
            return simulation.file(task, 0, leftMs)
          },
        },
        {
          kind: 'task',
          method: 'DELETE',
          path: /^\/v1\/videos\/(?<id>[^/]+)$/,
          reply(task) {
            if (isDeleted(task)) return notFound
            if (simulation.stateOf(task).endedAt === null) return error(400, 'The video is not finished')
            task.behaviours.deleted = null
            return { status: 200, json: { id: task.taskId, deleted: true, object: 'video.deleted' } }
          },
        },
      ],
    }
  })
  return Object.assign(simulator, {
    setWebhook(to: { url: string; secret: string }) {
      webhook = to
    },
  })
}

function typeOf(status: number): string {
  if (status === 401) return 'authentication_error'
  if (status === 429) return 'rate_limit_error'
  return status >= 500 ? 'server_error' : 'invalid_request_error'
}
