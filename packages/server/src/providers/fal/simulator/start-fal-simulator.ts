import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Answer, Reply } from '../../simulation/reply.ts'
import { endOf, type NewTask, type SimulatedTask } from '../../simulation/simulated-task.ts'
import type { Simulator, SimulatorOptions } from '../../simulation/simulator.ts'
import { startSimulator } from '../../simulation/start-simulator.ts'
import type { Call } from '../../simulation/vendor.ts'
import { appOf } from '../external-id.ts'
import { createFalKeys } from './fal-keys.ts'
import { outputOf, type RequestUrls, resultOfTask, statusOfTask } from './request-of-task.ts'

export interface FalSimulatorOptions extends SimulatorOptions {
  /**
   * Under which paths requests are found, and which are told: without what follows the model's name (`short`), with it
   * (`full`), or with it and `/response` at the end of the result's. All are found by default.
   */
  pathForm?: 'short' | 'full' | 'response'
}

export interface FalSimulator extends Simulator {
  /** Where the keys are that webhooks are signed with. */
  keysUrl: string
  /** Signs with a new key from now on; the one before is still published. */
  rotateKeys(): void
}

/** What words in brackets do at fal, beside the common ones. */
export const FAL_BEHAVIOURS = {
  invalid: 'completed, and the result is 422 with a list of what is wrong',
  'detail-text': 'completed, and the result is 422 with a text',
  'start-timeout': 'completed, and the result is 504: the time to start was over',
  'status-error': 'the status tells the error already',
  large: 'the result is gone after six minutes instead of an hour',
  gone: 'the result is gone at once',
  'no-files': 'a result without files',
  'garbage-result': 'the result breaks off',
  'proxy-result': "the result is a proxy's HTML page",
  'broken-result': 'the result is a bare HTTP 500',
  'cancel-odd': 'what was cancelled fails in other words, and the status says nothing',
  'cancel-too-late': 'cancelling is taken, but it goes on to the end',
} as const

const WEEK_MS = 7 * 24 * 60 * 60_000
const USER_ID = 'user_simulated'
const REQUEST = /^\/(?<model>.+)\/requests\/(?<id>[^/]+)/.source

/** fal's queue on a port of its own, with results that can be fetched. */
export async function startFalSimulator(options: FalSimulatorOptions = {}): Promise<FalSimulator> {
  const keys = createFalKeys()
  const { pathForm } = options
  const path = (end: string) => new RegExp(`${REQUEST}${end}$`)

  const simulator = await startSimulator(options, (simulation) => {
    const { now } = simulation
    const urlsOf = ({ model, taskId }: SimulatedTask): RequestUrls => {
      const name = pathForm === undefined || pathForm === 'short' ? appOf(model) : model
      const at = `${simulation.publicUrl()}/${name}/requests/${taskId}`
      const response = pathForm === 'response' ? `${at}/response` : at
      return { status_url: `${at}/status`, response_url: response, cancel_url: `${at}/cancel` }
    }
    /** A request is found under its own model only. */
    const at =
      (answer: (task: SimulatedTask, call: Call) => Answer, end = '') =>
      (task: SimulatedTask, call: Call): Answer => {
        const { model = '' } = call.path
        const isShort = model === appOf(task.model)
        const isFull = model === task.model
        const isFound = pathForm === undefined ? isShort || isFull : pathForm === 'short' ? isShort : isFull
        const isRightEnd =
          end === '' || pathForm === undefined || (pathForm === 'response') === (end === '/response')
        return isFound && isRightEnd ? answer(task, call) : tellError(404, 'Request not found')
      }
    const status = (task: SimulatedTask, { url }: Call) =>
      statusOfTask(task, now(), urlsOf(task), url.searchParams.get('logs') === '1')
    const result = (task: SimulatedTask) => resultOfTask(task, now(), simulation.urlsOf(task))

    return {
      words: FAL_BEHAVIOURS,
      endings: {
        invalid: 'failed',
        'detail-text': 'failed',
        'start-timeout': 'failed',
        'status-error': 'failed',
      },
      rateLimit: { count: 1_000, windowMs: 1_000 },
      fileTtlMs: WEEK_MS,
      keyOf: ({ authorization }) => /^Key (\S+)$/.exec(authorization ?? '')?.[1] ?? null,
      newId: () => randomUUID(),
      error: tellError,
      routes: [
        {
          kind: 'other',
          method: 'GET',
          path: /^\/\.well-known\/jwks\.json$/,
          isOpen: true,
          reply: () => ({ status: 200, json: keys.jwks() }),
        },
        { kind: 'query', method: 'GET', path: path('/status'), reply: at(status) },
        {
          kind: 'query',
          method: 'GET',
          path: path('/status/stream'),
          reply: at((task, call) => streamOf(task, call)),
        },
        { kind: 'task', method: 'GET', path: path('/response'), reply: at(result, '/response') },
        { kind: 'task', method: 'GET', path: path(''), reply: at(result, '/') },
        {
          kind: 'task',
          method: 'PUT',
          path: path('/cancel'),
          reply: at((task) => {
            const { phase, endedAt } = simulation.stateOf(task)
            if (endedAt !== null) return { status: 400, json: { status: 'ALREADY_COMPLETED' } }
            if (!('cancel-too-late' in task.behaviours)) simulation.end(task, 'cancelled')
            return phase === 'queued'
              ? { status: 200, json: { status: 'OK' } }
              : { status: 202, json: { status: 'CANCELLATION_REQUESTED' } }
          }),
        },
        {
          kind: 'create',
          method: 'POST',
          path: /^\/(?<model>[^/]+(?:\/[^/]+)+)$/,
          read: readCreate,
          reply: (task) => ({
            status: 200,
            json: { status: 'IN_QUEUE', request_id: task.taskId, queue_position: 0, ...urlsOf(task) },
          }),
        },
      ],
      webhooks: {
        attempts: 10,
        eventsOf: (task) => {
          const end = endOf(task)
          return end === null ? [] : [{ name: 'end', at: end, isRetried: true }]
        },
        bodyOf(task) {
          const { status: code, json } = resultOfTask(task, now(), simulation.urlsOf(task))
          const isOk = code === 200
          return JSON.stringify({
            request_id: task.taskId,
            gateway_request_id: randomUUID(),
            status: isOk ? 'OK' : 'ERROR',
            ...(isOk ? {} : { error: `Invalid status code: ${code}` }),
            payload: isOk ? outputOf(task, simulation.urlsOf(task)) : json,
          })
        },
        sign: (task, _event, body, atMs, fault): Record<string, string> =>
          fault === 'unsigned'
            ? {}
            : keys.headersFor({ requestId: task.taskId, userId: USER_ID, atMs, body }, fault === 'forged'),
      },
    }

    /** A status whenever it changes, until the end. */
    function streamOf(task: SimulatedTask, call: Call): Answer {
      return async (response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        let last = ''
        while (!response.destroyed) {
          const current = JSON.stringify(status(task, call).json)
          const isOver = simulation.stateOf(task).endedAt !== null
          if (current !== last) response.write(`data: ${current}\n\n`)
          last = current
          if (isOver) break
          await sleep(20, undefined, { ref: false })
        }
        response.end()
      }
    }
  })

  return { ...simulator, keysUrl: `${simulator.url}/.well-known/jwks.json`, rotateKeys: () => keys.rotate() }
}

function readCreate({ json, url, path }: Call): NewTask | Reply {
  if (!json) return tellError(422, 'The body is no JSON')
  const { prompt } = json
  if (typeof prompt !== 'string' || prompt.trim() === '') {
    return {
      status: 422,
      json: { detail: [{ loc: ['body', 'prompt'], msg: 'field required', type: 'value_error.missing' }] },
    }
  }
  const size = json.image_size ?? json.aspect_ratio
  return {
    model: path.model ?? '',
    prompt,
    aspectRatio: typeof size === 'string' ? size : '',
    outputs: Number(json.num_images ?? 1),
    callbackUrl: url.searchParams.get('fal_webhook'),
  }
}

function tellError(status: number, detail: string): Reply {
  return { status, json: { detail } }
}
