import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { asRecord, parseJson } from '../read-envelope.ts'
import { type Behaviour, type Behaviours, readBehaviours } from './behaviours.ts'
import { createCallbacks } from './callbacks.ts'
import { createRateWindow, type RateLimit } from './rate-window.ts'
import { recordOfTask } from './record-of-task.ts'
import { createResultFiles } from './result-files.ts'
import { sendFile } from './send-file.ts'
import { creditsFor, endOf, phaseAt, planTask, type SimulatedTask } from './simulated-task.ts'
import { openTaskStore } from './task-store.ts'

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

export interface SimulatorRequest {
  method: string
  path: string
  taskId?: string
  at: number
}

export interface KieSimulator {
  url: string
  port: number
  /** The requests received, oldest first; the last 10,000. */
  log: readonly SimulatorRequest[]
  /** How many tasks were accepted, over restarts if there is a state file. */
  creates(): number
  /** Makes the next create behave as if its prompt had these words in brackets. Calls queue up. */
  script(...behaviours: Behaviour[]): void
  /** Ends a task now. */
  finish(taskId: string): void
  close(): Promise<void>
}

const LOGGED = 10_000
const LINK_TTL_MS = 20 * 60 * 1000
const FIRST_CREDITS = 100_000
const MAX_BODY = 1_000_000
const HTML = '<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>'

/** KIE's jobs API on a port of its own, with results that can be fetched. */
export async function startKieSimulator(options: KieSimulatorOptions = {}): Promise<KieSimulator> {
  const { host = '127.0.0.1', errorStyle = 'http', speed = 1, fileTtlMs = LINK_TTL_MS } = options
  const { now = Date.now, random = Math.random, log: logLine = () => undefined } = options
  const store = await openTaskStore(options.stateFile, now, logLine)
  const mayCreate = createRateWindow(options.rateLimit ?? { count: 20, windowMs: 10_000 }, now)
  const files = createResultFiles()
  const requests: SimulatorRequest[] = []
  const scripted: Behaviours[] = []
  const busyUntil = new Map<string, number>()
  const cut = new Map<string, number>()
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
    const name = (index: number) => `${index}.${files.extensionOf(task)}`
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

  const reply = (
    response: ServerResponse,
    code: number,
    msg: string,
    data: unknown = null,
    headers: Record<string, string> = {},
  ) => {
    const status = errorStyle === 'http' ? code : 200
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(JSON.stringify({ code, msg, data }))
  }
  const replyHtml = (response: ServerResponse) =>
    response.writeHead(502, { 'content-type': 'text/html' }).end(HTML)

  async function create(request: IncomingMessage, response: ServerResponse, entry: SimulatorRequest) {
    const param = await readBody(request)
    if (param === null) return reply(response, 413, 'The request body is too large')
    const body = asRecord(parseJson(param))
    if (!body) return reply(response, 400, 'The request body is not valid JSON')
    // Observed: a missing model is a server error, not a validation error.
    if (typeof body.model !== 'string' || body.model === '') return reply(response, 500, 'Server exception')
    const input = asRecord(body.input)
    const prompt = input?.prompt
    if (!input || typeof prompt !== 'string' || prompt.trim() === '') {
      return reply(response, 422, 'prompt is required')
    }
    const behaviours = { ...readBehaviours(prompt), ...scripted.shift() }

    if ('dropped' in behaviours) return request.socket.destroy()
    if ('refuse' in behaviours)
      return reply(response, 422, 'The input parameters are not supported by this model')
    if (behaviours.code != null) return reply(response, behaviours.code, 'The request was refused')
    const busy = (['busy', 'busy-seconds', 'busy-date'] as const).find((name) => name in behaviours)
    if (busy) {
      const left = busyUntil.get(param) ?? behaviours[busy] ?? 1
      busyUntil.set(param, left - 1)
      if (left > 0) return reply(response, 429, 'Too many requests', null, retryAfter(busy, now()))
      busyUntil.delete(param)
    }
    if (!mayCreate()) return reply(response, 429, 'Your call frequency is too high. Please try again later.')

    const count = Number(input.num_images ?? input.n ?? 1)
    const task = planTask({
      model: body.model,
      prompt,
      aspectRatio: String(input.aspect_ratio ?? input.image_size ?? ''),
      param,
      callBackUrl: typeof body.callBackUrl === 'string' ? body.callBackUrl : null,
      behaviours,
      count: Number.isInteger(count) ? count : 1,
      createdAt: now(),
      speed,
      random,
    })
    // Before the reply: an id that a restart does not know would be a lie.
    await store.add(task)
    entry.taskId = task.taskId
    callbacks.watch(task)

    if ('lost' in behaviours) return request.socket.destroy()
    if ('hang' in behaviours) return
    if ('html-create' in behaviours) return replyHtml(response)
    if ('garbage-create' in behaviours) return response.writeHead(200).end('{"code":200,"msg":"succ')
    reply(response, 200, 'success', { taskId: task.taskId })
  }

  function query(response: ServerResponse, taskId: string | null) {
    if (!taskId) return reply(response, 400, 'taskId is required')
    const task = store.get(taskId)
    if (!task) return reply(response, 422, 'recordInfo is null')
    const poll = ++task.polls
    const { behaviours } = task
    const isNow = (name: Behaviour) => name in behaviours && poll <= (behaviours[name] ?? 3)
    if (isNow('cut')) return response.socket?.destroy()
    if (isNow('hang-polls')) return
    if (isNow('hidden')) return reply(response, 422, 'recordInfo is null')
    if (isNow('500')) return reply(response, 500, 'Server exception')
    if (isNow('429')) return reply(response, 429, 'Too many requests', null, { 'retry-after': '1' })
    if (isNow('html')) return replyHtml(response)
    if (isNow('garbage')) return response.writeHead(200).end('{"code":200,"data":{"state":"succ')
    const end = endOf(task)
    if ('vanish' in behaviours && end !== null && now() > (task.createdAt + end) / 2) {
      return reply(response, 422, 'recordInfo is null')
    }
    reply(response, 200, 'success', recordOf(task))
  }

  async function freshLink(request: IncomingMessage, response: ServerResponse) {
    const asked = asRecord(parseJson((await readBody(request)) ?? ''))?.url
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
      files.extensionOf(task) === extension &&
      phaseAt(task, now()) === 'success'
    if (!isThere || 'gone-files' in task.behaviours) return response.writeHead(404).end()
    const leftMs = Number(at.searchParams.get('expires') ?? 0) - now()
    if (!(leftMs > 0)) {
      return response.writeHead(403, { 'content-type': 'text/plain' }).end('This link has expired')
    }
    const { bytes, contentType } = await files.read(task, Number(index))
    if ('cut-files' in task.behaviours) {
      const cuts = (cut.get(at.pathname) ?? 0) + 1
      cut.set(at.pathname, cuts)
      if (cuts <= (task.behaviours['cut-files'] ?? 3)) {
        response.writeHead(200, { 'content-type': contentType, 'content-length': bytes.length })
        return response.write(bytes.subarray(0, bytes.length / 2), () => response.destroy())
      }
    }
    sendFile(request, response, bytes, {
      'content-type': contentType,
      'cache-control': `private, max-age=${Math.floor(leftMs / 1000)}`,
      'access-control-allow-origin': '*',
    })
  }

  async function answer(request: IncomingMessage, response: ServerResponse) {
    const { method = 'GET' } = request
    const at = new URL(request.url ?? '/', 'http://simulator')
    if (at.pathname.startsWith('/files/') && (method === 'GET' || method === 'HEAD')) {
      return serveFile(request, response, at)
    }
    const taskId = at.searchParams.get('taskId')
    const entry: SimulatorRequest = { method, path: at.pathname, at: now(), ...(taskId ? { taskId } : {}) }
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

  return {
    url,
    port,
    log: requests,
    creates: store.creates,
    script(...behaviours) {
      scripted.push(Object.fromEntries(behaviours.map((name) => [name, null])))
    },
    finish(taskId) {
      const task = store.get(taskId)
      if (!task) throw new Error(`The simulator has no task ${taskId}`)
      const age = now() - task.createdAt
      Object.assign(task, { waitMs: 0, queueMs: 0, workMs: age })
      callbacks.watch(task)
    },
    close() {
      closing ??= close()
      return closing
    },
  }
}

function retryAfter(kind: 'busy' | 'busy-seconds' | 'busy-date', now: number): Record<string, string> {
  if (kind === 'busy') return {}
  // A date has whole seconds only; rounded up, so that it is never in the past.
  const date = new Date(Math.ceil(now / 1000 + 1) * 1000).toUTCString()
  return { 'retry-after': kind === 'busy-date' ? date : '1' }
}

/** Null if it is too large. */
async function readBody(request: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > MAX_BODY) return null
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
