import { randomUUID } from 'node:crypto'
import { asRecord, parseJson } from '../../read-json.ts'
import { bearerKeyOf } from '../../simulation/bearer-key.ts'
import { createRateWindow } from '../../simulation/rate-window.ts'
import type { Reply } from '../../simulation/reply.ts'
import type { NewTask, SimulatedTask } from '../../simulation/simulated-task.ts'
import type { Simulator, SimulatorOptions } from '../../simulation/simulator.ts'
import { startSimulator } from '../../simulation/start-simulator.ts'
import type { Call } from '../../simulation/vendor.ts'
import { generationObject, LUMA_AGENTS_WORDS } from './generation-object.ts'

export interface LumaAgentsSimulatorOptions extends SimulatorOptions {
  /** How many unfinished generations there may be; creates beyond get the second kind of 429. @default 10 */
  concurrency?: number
}

const HOUR_MS = 60 * 60_000
const KINDS = new Set(['image', 'image_edit', 'video', 'video_edit', 'video_reframe'])

/** Luma's Agents API on a port of its own, below `/v1`. */
export function startLumaAgentsSimulator(options: LumaAgentsSimulatorOptions = {}): Promise<Simulator> {
  const { concurrency = 10, rateLimit = { count: 30, windowMs: 60_000 }, now = Date.now } = options
  const mayCreate = createRateWindow(rateLimit, now)
  // Both limits are kept here, since each is told in a way of its own.
  const unlimited = { count: Number.POSITIVE_INFINITY, windowMs: 1 }
  return startSimulator({ ...options, rateLimit: unlimited }, (simulation) => {
    let minted = 0
    /** With what every answer carries. */
    const answer = (
      call: Call,
      status: number,
      json: unknown,
      headers: Record<string, string> = {},
    ): Reply => ({
      status,
      json,
      headers: {
        'x-api-version': '1',
        'x-request-id': String(call.headers['x-request-id'] ?? randomUUID()),
        ...headers,
      },
    })
    // Unknown, foreign or malformed: an id that is not found is always told in the same words.
    const error = (status: number, detail: string, call: Call): Reply =>
      answer(call, status, { detail: status === 404 ? 'Generation not found' : detail })

    function read(call: Call): NewTask | Reply {
      const { json } = call
      if (!json) return error(400, 'Invalid JSON', call)
      const { prompt, model, type } = json
      if (typeof prompt !== 'string' || prompt === '') return error(400, 'prompt is required', call)
      if (typeof model !== 'string') return error(400, 'model is required', call)
      if (typeof type !== 'string' || !KINDS.has(type)) return error(400, 'type is not supported', call)
      return (
        tooMany(call) ?? {
          model,
          prompt,
          makesVideo: type.startsWith('video'),
          aspectRatio: typeof json.aspect_ratio === 'string' ? json.aspect_ratio : '',
        }
      )
    }

    function tooMany(call: Call): Reply | null {
      const unfinished = [...simulation.tasks()].filter((task) => simulation.stateOf(task).endedAt === null)
      if (unfinished.length >= concurrency) {
        return answer(call, 429, { detail: 'Too many concurrent generations' }, { 'retry-after': '60' })
      }
      if (mayCreate()) return null
      const seconds = String(Math.ceil(rateLimit.windowMs / 1000))
      return answer(
        call,
        429,
        { detail: 'Rate limit exceeded' },
        {
          'retry-after': seconds,
          'x-ratelimit-limit': String(rateLimit.count),
          'x-ratelimit-remaining': '0',
          'x-ratelimit-reset': seconds,
        },
      )
    }

    /** Good from now on, and another one each time. */
    const freshUrls = (task: SimulatedTask) => {
      minted++
      const expires = simulation.now() + (options.fileTtlMs ?? HOUR_MS)
      return simulation.urlsOf(task, expires).map((url) => `${url}&signature=${minted}`)
    }
    const shown = (task: SimulatedTask) => {
      const kind = String(asRecord(parseJson(task.request))?.type)
      return generationObject(task, kind, simulation.stateOf(task), () => freshUrls(task))
    }

    return {
      words: LUMA_AGENTS_WORDS,
      error,
      keyOf: bearerKeyOf,
      newId: () => randomUUID(),
      rateLimit: unlimited,
      fileTtlMs: HOUR_MS,
      routes: [
        {
          kind: 'create',
          method: 'POST',
          path: /^\/v1\/generations$/,
          read,
          reply: (task, call) => answer(call, 201, shown(task)),
        },
        {
          kind: 'query',
          method: 'GET',
          path: /^\/v1\/generations\/(?<id>[^/]+)$/,
          reply: (task, call) => answer(call, 200, shown(task)),
        },
      ],
    }
  })
}
