import { z } from 'zod'
import type { Answer } from './reply.ts'
import type { Simulator } from './simulator.ts'
import type { Call } from './vendor.ts'

const ending = z.enum(['succeeded', 'failed', 'cancelled'])

const scriptSchema = z.strictObject({
  words: z.array(z.string().regex(/^[a-z0-9-]+(:\d{1,4})?$/)).optional(),
  steps: z
    .array(
      z.strictObject({
        phase: z.enum(['queued', 'working']),
        says: z.string().optional(),
        forMs: z.number().nonnegative(),
      }),
    )
    .min(1)
    .optional(),
  ending: z.enum(['succeeded', 'failed', 'cancelled', 'never']).optional(),
})

const finishSchema = z.strictObject({ taskId: z.string(), ending: ending.optional() })

type Scripted = Pick<Simulator, 'requests' | 'creates' | 'script' | 'finish'>

/** The routes under `/simulator/`: what a test in another process, or in another language, needs. */
export function createAdmin(simulator: Scripted): (call: Pick<Call, 'method' | 'url' | 'json'>) => Answer {
  return ({ method, url, json }) => {
    switch (`${method} ${url.pathname}`) {
      case 'GET /simulator/requests':
        return { status: 200, json: { creates: simulator.creates(), requests: simulator.requests() } }
      case 'POST /simulator/script': {
        const script = scriptSchema.safeParse(json)
        if (!script.success) return invalid(script.error)
        simulator.script(script.data)
        return { status: 200, json: { scripted: script.data } }
      }
      case 'POST /simulator/finish': {
        const finish = finishSchema.safeParse(json)
        if (!finish.success) return invalid(finish.error)
        try {
          simulator.finish(finish.data.taskId, finish.data.ending)
        } catch (error) {
          return { status: 404, json: { error: error instanceof Error ? error.message : 'not found' } }
        }
        return { status: 200, json: { finished: finish.data.taskId } }
      }
      default:
        return {
          status: 404,
          json: { error: 'The simulator has GET requests, POST script and POST finish under /simulator/.' },
        }
    }
  }
}

function invalid(error: z.ZodError): Answer {
  return { status: 400, json: { error: z.prettifyError(error) } }
}
