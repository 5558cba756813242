import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { asRecord, parseJson } from '../../read-json.ts'
import { createAdmin } from '../../simulation/admin.ts'
import { createCreateFaults, pollFault, replyFault } from '../../simulation/faults.ts'
import { createRateWindow, type RateLimit } from '../../simulation/rate-window.ts'
import { brokenOff, readBody, sendAnswer } from '../../simulation/reply.ts'
import { createResultFiles } from '../../simulation/result-files.ts'
import { sendMedia } from '../../simulation/send-media.ts'
import {
  endEarly,
  endOf,
  joinScripts,
  type Script,
  type SimulatedTask,
} from '../../simulation/simulated-task.ts'
import type { Simulator, SimulatorRequest } from '../../simulation/simulator.ts'
import { openTaskStore } from '../../simulation/task-store.ts'
import { readBehaviours, withoutBehaviours } from './behaviours.ts'
import { createCallbacks } from './callbacks.ts'
import { recordOfTask } from './record-of-task.ts'
import { creditsFor, phaseAt, planTask } from './simulated-task.ts'

export interface KieSimulatorOptions {
  /** @default 0, any free one */
  port?: number
  /** @default '127.0.0.1' */
  host?: string
  /** Where tasks are kept over a restart. Without it they are in memory only. */
  stateFile?: string
  /** The key that is accepted. Without it any key is. */
  apiKey?: string
  /** How errors are told: as HTTP statuses, or as a `code` inside HTTP 200. @default 'http' */
  errorStyle?: 'http' | 'envelope'
  /** 2 = everything takes half as long. @default 1 */
  speed?: number
  /** The origin in result URLs, if users reach this server by another name than `url`. */
  publicUrl?: string
  /** @default 20 creates per 10 s */
  rateLimit?: RateLimit
  /** How long result URLs work. @default 20 min */
  fileTtlMs?: number
  /** `progress` for every model instead of for sora ones only, as documented. @default false */
  progressForAll?: boolean
  /** Signs callbacks. */
  webhookHmacKey?: string
  /** Wait between the attempts of a callback. @default 1000 */
  callbackRetryMs?: number
  now?: () => number
  random?: () => number
  log?: (line: string) => void
}

export interface KieSimulator extends Simulator {
  /** The requests received, oldest first; the last 10,000. */
  log: readonly SimulatorRequest[]
}

const LOGGED = 10_000
const LINK_TTL_MS = 20 * 60 * 1000
const FIRST_CREDITS = 100_000

/** KIE's jobs API on a port of its own, with results that can be fetched. */
export async function startKieSimulator(options: KieSimulatorOptions = {}): Promise<KieSimulator> {
  const { host = '127.0.0.1', errorStyle = 'http', speed = 1, fileTtlMs = LINK_TTL_MS } = options
  const { now = Date.now, random = Math.random, log: logLine = () => undefined } = options
  const store = await openTaskStore<SimulatedTask>(options.stateFile, now, logLine)
  const mayCreate = createRateWindow(options.rateLimit ?? { count: 20, windowMs: 10_000 }, now)
  const files = createResultFiles()
  const requests: SimulatorRequest[] = []
  const scripts: Script[] = []
  const createFault = createCreateFaults(now)
  let url = ''

  const remainedCredits = () => {
    let spent = 0
    for (const task of store.all()) if (phaseAt(task, now()) !== 'fail') spent += creditsFor(task)
    return Math.max(0, FIRST_CREDITS - spent)
  }
  const publicUrl = () => options.publicUrl?.replace(/\/+$/, '') ?? url
  const fileUrl = (taskId: string, name: string, expires: number) =>
    `${publicUrl()}/files/${taskId}/${name}?expires=${Math.floor(expires)}`
  const recordOf = (task: SimulatedTask) => {
    const expires = 'dead-links' in task.behaviours ? now() : (endOf(task) ?? now()) + fileTtlMs
    const name = (index: number) => `${index}.${extensionOf(task)}`
    const urls = Array.from({ length: task.outputs }, (_, index) =>
      fileUrl(task.taskId, name(index), expires),
    )
    return recordOfTask(task, { now: now(), urls, progressForAll: options.progressForAll ?? false })
  }

  const callbacks = createCallbacks({
    now,
    recordOf,
    remainedCredits,
    hmacKey: options.webhookHmacKey,
    retryMs: options.callbackRetryMs ?? 1_000,
    onDelivered: () => void store.flush().catch(() => logLine('the state file could not be written')),
    log: logLine,
  })

  const envelope = (code: number, msg: string, data: unknown = null) => ({
    status: errorStyle === 'http' ? code : 200,
    json: { code, msg, data },
  })
  const reply = (response: ServerResponse, code: number, msg: string, data?: unknown) =>
    sendAnswer(response, envelope(code, msg, data))

  async function create(request: IncomingMessage, response: ServerResponse, entry: SimulatorRequest) {
    const bytes = await readBody(request)
    if (bytes === null) return reply(response, 413, 'The request body is too large')
    const param = bytes.toString('utf8')
    const body = asRecord(parseJson(param))
    if (!body) return reply(response, 400, 'The request body is not valid JSON')
    // Observed: a missing model is a server error, not a validation error.
    if (typeof body.model !== 'string' || body.model === '') return reply(response, 500, 'Server exception')
    const input = asRecord(body.input)
    const prompt = input?.prompt
    if (!input || typeof prompt !== 'string' || prompt.trim() === '') {
      return reply(response, 422, 'prompt is required')
    }
    const script = scripts.shift()
    const behaviours = readBehaviours(prompt + (script?.words ?? []).map((word) => `[${word}]`).join(''))
    const fault = createFault(behaviours, param, envelope)
    if (fault) return sendAnswer(response, fault)
    if (!mayCreate()) return reply(response, 429, 'Your call frequency is too high. Please try again later.')

    const count = Number(input.num_images ?? input.n ?? 1)
    const task = planTask({
      model: body.model,
      prompt,
      aspectRatio: String(input.aspect_ratio ?? input.image_size ?? ''),
      request: param,
      callbackUrl: typeof body.callBackUrl === 'string' ? body.callBackUrl : null,
      behaviours,
      script,
      outputs: count,
      createdAt: now(),
      speed,
      random,
    })
    // Before the reply: an id that a restart does not know would be a lie.
    await store.add(task)
    entry.taskId = task.taskId
    callbacks.watch(task)

    if ('hook-early' in behaviours) await callbacks.send(task, { name: 'end', at: now(), isRetried: false })
    const accepted = () => envelope(200, 'success', { taskId: task.taskId })
    return sendAnswer(response, replyFault(behaviours, accepted, brokenOff))
  }

  function query(response: ServerResponse, taskId: string | null) {
    if (!taskId) return reply(response, 400, 'taskId is required')
    const task = store.get(taskId)
    if (!task) return reply(response, 422, 'recordInfo is null')
    task.polls++
    const fault = pollFault(task, now(), envelope)
    if (fault === 'hidden') return reply(response, 422, 'recordInfo is null')
    if (fault) return sendAnswer(response, fault)
    const end = endOf(task)
    if ('vanish' in task.behaviours && end !== null && now() > (task.createdAt + end) / 2) {
      return reply(response, 422, 'recordInfo is null')
    }
    reply(response, 200, 'success', recordOf(task))
  }

  async function freshLink(request: IncomingMessage, response: ServerResponse) {
    const asked = asRecord(parseJson(String(await readBody(request))))?.url
    const link = typeof asked === 'string' ? URL.parse(asked) : null
    const [, taskId, name] = /^\/files\/([^/]+)\/([^/]+)$/.exec(link?.pathname ?? '') ?? []
    if (!taskId || !name || link?.origin !== URL.parse(publicUrl())?.origin) {
      return reply(response, 422, 'The url is not one of ours')
    }
    // As observed, a link is also made for what does not exist.
    reply(response, 200, 'success', fileUrl(taskId, name, now() + LINK_TTL_MS))
  }

  async function serveFile(request: IncomingMessage, response: ServerResponse, at: URL) {
    const [, taskId = '', index, extension] = /^\/files\/([^/]+)\/(\d)\.(png|mp4)$/.exec(at.pathname) ?? []
    const task = store.get(taskId)
    const isThere =
      task &&
      Number(index) < task.outputs &&
      extensionOf(task) === extension &&
      phaseAt(task, now()) === 'success'
    if (!isThere || 'gone-files' in task.behaviours) return sendAnswer(response, { status: 404 })
    const leftMs = Number(at.searchParams.get('expires') ?? 0) - now()
    const fetches = (task.fetches[Number(index)] ?? 0) + 1
    task.fetches[Number(index)] = fetches
    const read = () => files.read({ ...task, prompt: withoutBehaviours(task.prompt) }, Number(index))
    await sendMedia(request, response, { behaviours: task.behaviours, fetches, leftMs, read })
  }

  async function answer(request: IncomingMessage, response: ServerResponse) {
    const { method = 'GET' } = request
    const at = new URL(request.url ?? '/', 'http://simulator')
    if (at.pathname.startsWith('/files/') && (method === 'GET' || method === 'HEAD')) {
      return serveFile(request, response, at)
    }
    if (at.pathname.startsWith('/simulator/')) {
      const json = asRecord(parseJson(String(await readBody(request))))
      return sendAnswer(response, admin({ method, url: at, json }))
    }
    const taskId = at.searchParams.get('taskId')
    const entry: SimulatorRequest = {
      method,
      path: at.pathname,
      search: at.search,
      userAgent: request.headers['user-agent'] ?? '',
      at: now(),
      ...(taskId ? { taskId } : {}),
    }
    requests.push(entry)
    if (requests.length > LOGGED) requests.shift()

    // Observed at both of KIE's hosts, before anything else is looked at.
    if (!request.headers['user-agent']) {
      return response.writeHead(403, { 'content-type': 'text/html' }).end('error code: 1010')
    }
    const [, key = ''] = /^Bearer (\S+)$/.exec(request.headers.authorization ?? '') ?? []
    if (key === '' || (options.apiKey !== undefined && key !== options.apiKey)) {
      return reply(response, 401, 'You do not have access permissions')
    }
    switch (`${method} ${at.pathname}`) {
      case 'POST /api/v1/jobs/createTask':
        return create(request, response, entry)
      case 'GET /api/v1/jobs/recordInfo':
        return query(response, taskId)
      case 'POST /api/v1/common/download-url':
        return freshLink(request, response)
      case 'GET /api/v1/chat/credit':
        return reply(response, 200, 'success', remainedCredits())
      default:
        return reply(response, 404, 'Not found')
    }
  }

  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      logLine(`${request.method} ${request.url}: ${error instanceof Error ? error.message : 'failed'}`)
      if (response.headersSent) response.destroy()
      else reply(response, 500, 'Server exception')
    })
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(options.port ?? 0, host, () => resolve())
  })
  const { port } = server.address() as AddressInfo
  url = `http://${host.includes(':') ? `[${host}]` : host}:${port}`
  for (const task of store.all()) callbacks.watch(task)

  let closing: Promise<void> | undefined
  const close = async () => {
    callbacks.stop()
    await new Promise<void>((done) => {
      server.close(() => done())
      server.closeAllConnections()
    })
    await files.close()
    await store.flush()
  }

  const simulator: KieSimulator = {
    url,
    port,
    log: requests,
    requests: () => requests,
    creates: store.creates,
    script: (...parts) => scripts.push(joinScripts(parts)),
    finish(taskId, ending) {
      const task = store.get(taskId)
      if (!task) throw new Error(`The simulator has no task ${taskId}`)
      endEarly(task, now(), ending)
      callbacks.watch(task)
    },
    sendWebhooks: () => callbacks.flush(store.all()),
    close() {
      closing ??= close()
      return closing
    },
  }
  const admin = createAdmin(simulator)
  return simulator
}

function extensionOf(task: SimulatedTask): string {
  return task.makesVideo ? 'mp4' : 'png'
}
