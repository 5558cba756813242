import { randomUUID } from 'node:crypto'
import { bearerKeyOf } from '../../simulation/bearer-key.ts'
import type { Reply } from '../../simulation/reply.ts'
import { endOf, type NewTask, type SimulatedTask } from '../../simulation/simulated-task.ts'
import type { Simulator, SimulatorOptions } from '../../simulation/simulator.ts'
import { startSimulator } from '../../simulation/start-simulator.ts'
import type { Call } from '../../simulation/vendor.ts'
import type { WebhookEvent } from '../../simulation/webhooks.ts'
import { DREAM_MACHINE_WORDS, generationObject } from './generation-object.ts'

export interface LumaDreamMachineSimulatorOptions extends SimulatorOptions {
  /** How many unfinished generations of a kind there may be; creates beyond get 429. @default 10 videos, 40 images */
  concurrency?: number
}

const FILE_TTL_MS = 2 * 60 * 60_000
const FIRST_CENTS = 100_000
const CENTS = { video: 40, image: 2 }
const MOST_LISTED = 100
const IMAGE_MODELS = /^photon/
const VIDEO_MODELS = /^ray/

/** Luma's Dream Machine on a port of its own, below `/dream-machine/v1`. */
export function startLumaDreamMachineSimulator(
  options: LumaDreamMachineSimulatorOptions = {},
): Promise<Simulator> {
  return startSimulator(options, (simulation) => {
    const error = (status: number, detail: string): Reply => ({ status, json: { detail } })
    const isDeleted = (task: SimulatedTask) => 'deleted' in task.behaviours
    const shown = (task: SimulatedTask) =>
      generationObject(task, simulation.stateOf(task), () => simulation.urlsOf(task))

    function read({ json, path }: Call): NewTask | Reply {
      if (!json) return error(400, 'Invalid JSON')
      const wantsImage = path.kind === '/image'
      const model = String(json.model)
      if (!(wantsImage ? IMAGE_MODELS : VIDEO_MODELS).test(model)) return error(400, 'model is not supported')
      const { prompt = '' } = json
      if (typeof prompt !== 'string') return error(400, 'prompt must be text')
      if (prompt.length > 5_000) return error(400, 'Prompt is too long, maximum length is 5000')
      const unfinished = [...simulation.tasks()].filter(
        (task) => task.makesVideo === !wantsImage && simulation.stateOf(task).endedAt === null,
      )
      if (unfinished.length >= (options.concurrency ?? (wantsImage ? 40 : 10))) {
        return error(429, 'Too many concurrent generations')
      }
      return {
        model,
        prompt,
        makesVideo: !wantsImage,
        aspectRatio: typeof json.aspect_ratio === 'string' ? json.aspect_ratio : '16:9',
        callbackUrl: typeof json.callback_url === 'string' ? json.callback_url : null,
      }
    }

    function list({ url }: Call): Reply {
      const limit = Math.min(Number(url.searchParams.get('limit') ?? 10), MOST_LISTED)
      const offset = Number(url.searchParams.get('offset') ?? 0)
      const all = [...simulation.tasks()].filter((task) => !isDeleted(task)).reverse()
      const generations = all.slice(offset, offset + limit).map(shown)
      return {
        status: 200,
        json: { generations, count: all.length, has_more: offset + limit < all.length, limit, offset },
      }
    }

    /** Several calls per state are to be expected, so each is made twice. */
    function eventsOf(task: SimulatedTask): WebhookEvent[] {
      const end = endOf(task)
      const begin = Math.min(task.createdAt + (task.steps[0]?.forMs ?? 0), end ?? Number.POSITIVE_INFINITY)
      const ending = (task.endedEarly?.ending ?? task.ending) === 'succeeded' ? 'completed' : 'failed'
      const times: [string, number][] = [
        ['dreaming', begin],
        ['dreaming again', begin],
        ...(end === null || isDeleted(task)
          ? []
          : ([
              [ending, end],
              [`${ending} again`, end],
            ] as [string, number][])),
      ]
      return times.map(([name, at]) => ({ name, at, isRetried: true }))
    }

    function bodyOf(task: SimulatedTask, { name }: WebhookEvent): string {
      const phase = name.startsWith('dreaming')
        ? 'working'
        : name.startsWith('failed')
          ? 'failed'
          : 'succeeded'
      return JSON.stringify(generationObject(task, { phase }, () => simulation.urlsOf(task)))
    }

    const onePath = /^\/dream-machine\/v1\/generations\/(?<id>[^/]+)$/
    const notFound = error(404, 'Generation not found')
    return {
      words: DREAM_MACHINE_WORDS,
      error,
      keyOf: bearerKeyOf,
      newId: () => randomUUID(),
      rateLimit: { count: 20, windowMs: 60_000 },
      fileTtlMs: FILE_TTL_MS,
      webhooks: { eventsOf, bodyOf, sign: () => ({}), attempts: 3 },
      routes: [
        {
          kind: 'create',
          method: 'POST',
          path: /^\/dream-machine\/v1\/generations(?<kind>\/video|\/image|)$/,
          read,
          reply: (task) => ({ status: 201, json: shown(task) }),
        },
        { kind: 'other', method: 'GET', path: /^\/dream-machine\/v1\/generations$/, reply: list },
        {
          kind: 'query',
          method: 'GET',
          path: onePath,
          reply: (task) => (isDeleted(task) ? notFound : { status: 200, json: shown(task) }),
        },
        {
          kind: 'task',
          method: 'DELETE',
          path: onePath,
          reply(task) {
            if (isDeleted(task)) return notFound
            task.behaviours.deleted = null
            simulation.end(task, 'cancelled')
            return { status: 204 }
          },
        },
        {
          kind: 'other',
          method: 'GET',
          path: /^\/dream-machine\/v1\/credits$/,
          reply: () => ({ status: 200, json: { credit_balance: credits() } }),
        },
        {
          kind: 'other',
          method: 'GET',
          path: /^\/dream-machine\/v1\/ping$/,
          reply: () => ({ status: 200, json: { message: 'pong' } }),
        },
      ],
    }

    /** In US cents. Failed ones are paid back. */
    function credits(): number {
      const paid = [...simulation.tasks()].filter((task) => simulation.stateOf(task).phase !== 'failed')
      const spent = paid.reduce((sum, { makesVideo }) => sum + (makesVideo ? CENTS.video : CENTS.image), 0)
      return FIRST_CENTS - spent
    }
  })
}
