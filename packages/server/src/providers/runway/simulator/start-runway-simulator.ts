import { randomUUID } from 'node:crypto'
import { bearerKeyOf } from '../../simulation/bearer-key.ts'
import type { Reply } from '../../simulation/reply.ts'
import type { NewTask, SimulatedTask } from '../../simulation/simulated-task.ts'
import type { Simulator, SimulatorOptions } from '../../simulation/simulator.ts'
import { startSimulator } from '../../simulation/start-simulator.ts'
import type { Call, Route } from '../../simulation/vendor.ts'
import { holdBack } from './hold-back.ts'
import { creditsOf, RUNWAY_WORDS, taskObject } from './task-object.ts'

export interface RunwaySimulatorOptions extends SimulatorOptions {
  /** How many tasks of one model run at the same time; the rest waits as THROTTLED. @default 10 */
  concurrency?: number
}

const VERSION = '2024-11-06'
const DAY_MS = 24 * 60 * 60_000
const FIRST_CREDITS = 100_000
const MAX_PROMPT = 1_000

/** What each path makes, and the parameter it cannot do without. */
const ROUTES: Record<string, { makesVideo: boolean; needs: string }> = {
  image_to_video: { makesVideo: true, needs: 'promptImage' },
  text_to_video: { makesVideo: true, needs: 'promptText' },
  video_to_video: { makesVideo: true, needs: 'videoUri' },
  text_to_image: { makesVideo: false, needs: 'promptText' },
  image_upscale: { makesVideo: false, needs: 'imageUri' },
  video_upscale: { makesVideo: true, needs: 'videoUri' },
  character_performance: { makesVideo: true, needs: 'character' },
}

/** Runway's API on a port of its own. The rate limit is the rolling cap of a day. */
export function startRunwaySimulator(options: RunwaySimulatorOptions = {}): Promise<Simulator> {
  const { concurrency = 10, rateLimit = { count: 1_000, windowMs: DAY_MS } } = options
  return startSimulator(options, (simulation) => {
    let minted = 0
    const error = (status: number, detail: string): Reply => ({ status, json: { error: detail } })
    const replan = () => holdBack(simulation.tasks(), concurrency)

    /** Good from now on, and another one each time. */
    const freshUrls = (task: SimulatedTask) => {
      minted++
      const expires = simulation.now() + (options.fileTtlMs ?? DAY_MS)
      return simulation.urlsOf(task, expires).map((url) => `${url}&_jwt=${minted}`)
    }

    function read(call: Call): NewTask | Reply {
      const { json, path } = call
      const name = path.route ?? ''
      const route = Object.hasOwn(ROUTES, name) ? ROUTES[name] : undefined
      if (call.headers['x-runway-version'] !== VERSION) return badVersion
      if (!route) return error(404, 'There is no such route')
      if (!json) return error(400, 'The request body is not valid JSON')
      if (typeof json.model !== 'string') return error(400, 'Validation of body failed: model is required')
      if (json[route.needs] === undefined) {
        return error(400, `Validation of body failed: ${route.needs} is required`)
      }
      const prompt = typeof json.promptText === 'string' ? json.promptText : ''
      if (prompt.length > MAX_PROMPT) return error(400, 'Validation of body failed: promptText is too long')
      return {
        model: json.model,
        prompt,
        makesVideo: route.makesVideo,
        aspectRatio: shapeOf(json.ratio),
      }
    }

    const taskPath = /^\/v1\/tasks\/(?<id>[^/]+)$/
    const badVersion = error(400, `X-Runway-Version must be ${VERSION}`)
    const checked = (route: Route & { kind: 'query' | 'task' }): Route => ({
      ...route,
      reply(task, call) {
        if (call.headers['x-runway-version'] !== VERSION) return badVersion
        // Cancelled and deleted tasks cannot be fetched any more.
        if ('deleted' in task.behaviours) return error(404, 'Task not found')
        replan()
        return route.reply(task, call)
      },
    })

    return {
      words: RUNWAY_WORDS,
      error,
      keyOf: bearerKeyOf,
      newId: () => randomUUID(),
      rateLimit,
      fileTtlMs: DAY_MS,
      routes: [
        {
          kind: 'create',
          method: 'POST',
          path: /^\/v1\/(?<route>[a-z_]+)$/,
          read,
          reply(task) {
            replan()
            return { status: 200, json: { id: task.taskId, estimatedCost: { credits: creditsOf(task) } } }
          },
        },
        checked({
          kind: 'query',
          method: 'GET',
          path: taskPath,
          reply: (task) => ({
            status: 200,
            json: taskObject(task, simulation.stateOf(task), () => freshUrls(task)),
          }),
        }),
        checked({
          kind: 'task',
          method: 'DELETE',
          path: taskPath,
          reply(task) {
            simulation.end(task, 'cancelled')
            task.behaviours.deleted = null
            return { status: 204 }
          },
        }),
        {
          kind: 'other',
          method: 'GET',
          path: /^\/v1\/organization$/,
          reply: (call) =>
            call.headers['x-runway-version'] === VERSION ? { status: 200, json: organization() } : badVersion,
        },
      ],
    }

    function organization() {
      const tasks = [...simulation.tasks()]
      const isPaid = (task: SimulatedTask) =>
        simulation.stateOf(task).phase !== 'failed' && !('deleted' in task.behaviours)
      const spent = tasks.filter(isPaid).reduce((sum, task) => sum + creditsOf(task), 0)
      const models = [...new Set(tasks.map(({ model }) => model))]
      const usedBy = (name: string) =>
        tasks.filter(({ model, createdAt }) => model === name && createdAt > simulation.now() - DAY_MS).length
      const each = <T>(of: (model: string) => T) => Object.fromEntries(models.map((name) => [name, of(name)]))
      return {
        creditBalance: FIRST_CREDITS - spent,
        tier: {
          maxMonthlyCreditSpend: FIRST_CREDITS,
          models: each(() => ({
            maxConcurrentGenerations: concurrency,
            maxDailyGenerations: rateLimit.count,
          })),
        },
        usage: { models: each((name) => ({ dailyGenerations: usedBy(name) })) },
      }
    }
  })
}

/** `1280:720` as the shape it has. */
function shapeOf(ratio: unknown): string {
  const [width = 1, height = 1] = String(ratio).split(':').map(Number)
  if (!(width > 0 && height > 0) || width === height) return '1:1'
  const isWide = Math.abs(Math.log(width / height)) > Math.log(1.55)
  if (width > height) return isWide ? '16:9' : '4:3'
  return isWide ? '9:16' : '3:4'
}
