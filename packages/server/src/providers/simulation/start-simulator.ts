import type { IncomingMessage } from 'node:http'
import { asRecord, parseJson } from '../read-json.ts'
import { createAdmin } from './admin.ts'
import { COMMON_BEHAVIOURS, createVocabulary } from './behaviours.ts'
import { createCreateFaults, pollFault, replyFault } from './faults.ts'
import { listenForRequests } from './listen-for-requests.ts'
import { createRateWindow } from './rate-window.ts'
import { type Answer, brokenOff, readBody } from './reply.ts'
import { createSimulatedMedia } from './simulated-media.ts'
import {
  endEarly,
  endOf,
  joinScripts,
  planTask,
  type Script,
  type SimulatedTask,
  stateAt,
} from './simulated-task.ts'
import type { Simulator, SimulatorOptions, SimulatorRequest } from './simulator.ts'
import { openTaskStore } from './task-store.ts'
import type { Call, Route, Simulation, Vendor } from './vendor.ts'
import { createWebhooks } from './webhooks.ts'

const LOGGED = 10_000

/** A vendor's API on a port of its own, with results that can be fetched. */
export async function startSimulator(
  options: SimulatorOptions,
  describe: (simulation: Simulation) => Vendor,
): Promise<Simulator> {
  const { host = '127.0.0.1', speed = 1, now = Date.now, random = Math.random } = options
  const logLine = options.log ?? (() => undefined)
  const store = await openTaskStore<SimulatedTask>(options.stateFile, now, logLine)
  const requests: SimulatorRequest[] = []
  const scripts: Script[] = []
  let url = ''

  const publicUrl = () => options.publicUrl?.replace(/\/+$/, '') ?? url
  const media = createSimulatedMedia({
    now,
    publicUrl,
    ttlMs: () => options.fileTtlMs ?? vendor.fileTtlMs,
    vocabulary: () => vocabulary,
  })

  const keep = () => void store.flush().catch(() => logLine('the state file could not be written'))
  const end: Simulation['end'] = (task, ending) => {
    endEarly(task, now(), ending)
    keep()
    webhooks?.watch(task)
  }

  const vendor = describe({
    now,
    publicUrl,
    stateOf: (task) => stateAt(task, now()),
    task: (taskId) => store.get(taskId),
    tasks: () => store.all(),
    urlsOf: media.urlsOf,
    file: media.file,
    readFile: media.read,
    end,
  })
  const vocabulary = createVocabulary<string>({ ...COMMON_BEHAVIOURS, ...vendor.words })
  const mayCreate = createRateWindow(options.rateLimit ?? vendor.rateLimit, now)
  const createFault = createCreateFaults(now)
  const webhooks =
    vendor.webhooks &&
    createWebhooks<SimulatedTask>({
      ...vendor.webhooks,
      now,
      retryMs: options.webhookRetryMs ?? 1_000,
      onDelivered: keep,
      log: logLine,
    })

  async function create(
    route: Route & { kind: 'create' },
    call: Call,
    entry: SimulatorRequest,
  ): Promise<Answer> {
    const wanted = route.read(call)
    if ('status' in wanted) return wanted
    const script = scripts.shift()
    const words = (script?.words ?? []).map((word) => `[${word}]`).join('')
    const behaviours = vocabulary.read(wanted.prompt + words)
    const request = call.body.toString('utf8')
    const tellError = (status: number, detail: string) => vendor.error(status, detail, call)
    const fault = createFault(behaviours, request, tellError)
    if (fault) return fault
    if (!mayCreate()) return tellError(429, 'Request was throttled.')

    const taskId = vendor.newId(wanted)
    const task = planTask({
      ...wanted,
      taskId,
      request,
      behaviours,
      script,
      endings: vendor.endings,
      createdAt: now(),
      speed,
      random,
    })
    // Before the reply: an id that a restart does not know would be a lie.
    await store.add(task)
    entry.taskId = taskId
    webhooks?.watch(task)
    if ('hook-early' in behaviours) {
      const last = vendor.webhooks?.eventsOf(task).at(-1)
      if (last) await webhooks?.send(task, last)
    }
    return replyFault(behaviours, () => route.reply(task, call), brokenOff)
  }

  async function query(
    route: Route & { kind: 'query' | 'task' },
    call: Call,
    entry: SimulatorRequest,
  ): Promise<Answer> {
    const task = store.get(call.path.id ?? '')
    const tellError = (status: number, detail: string) => vendor.error(status, detail, call)
    if (!task) return tellError(404, 'Not found')
    entry.taskId = task.taskId
    if (route.kind === 'query') {
      task.polls++
      const fault = pollFault(task, now(), tellError)
      if (fault === 'hidden') return tellError(404, 'Not found')
      if (fault) return fault
    }
    const end = endOf(task)
    if ('vanish' in task.behaviours && end !== null && now() > (task.createdAt + end) / 2) {
      return tellError(404, 'Not found')
    }
    return route.reply(task, call)
  }

  async function answer(request: IncomingMessage): Promise<Answer> {
    const { method = 'GET', headers } = request
    const at = new URL(request.url ?? '/', 'http://simulator')
    const file = method === 'GET' || method === 'HEAD' ? media.answer(at, store.get) : null
    if (file) return file
    const body = await readBody(request)
    const call: Call = { method, url: at, headers, path: {}, body: body ?? Buffer.alloc(0), json: null }
    if (body === null) return vendor.error(413, 'The request body is too large', call)
    call.json = asRecord(parseJson(body.toString('utf8')))
    if (at.pathname.startsWith('/simulator/')) return admin(call)

    const entry: SimulatorRequest = {
      method,
      path: at.pathname,
      search: at.search,
      userAgent: headers['user-agent'] ?? '',
      at: now(),
    }
    requests.push(entry)
    if (requests.length > LOGGED) requests.shift()
    const route = vendor.routes.find((each) => each.method === method && each.path.test(at.pathname))
    const isOpen = route?.kind === 'other' && route.isOpen
    const key = vendor.keyOf(headers)
    if (!isOpen && (!key || (options.apiKey !== undefined && key !== options.apiKey))) {
      return vendor.error(401, 'The key is not valid', call)
    }
    if (!route) return vendor.error(404, 'There is no such route', call)
    call.path = { ...route.path.exec(at.pathname)?.groups }
    if (route.kind === 'create') return create(route, call, entry)
    return route.kind === 'other' ? route.reply(call) : query(route, call, entry)
  }

  const server = await listenForRequests(answer, { port: options.port ?? 0, host, log: logLine })
  url = server.url
  for (const task of store.all()) webhooks?.watch(task)

  let closing: Promise<void> | undefined
  const close = async () => {
    webhooks?.stop()
    await server.close()
    await media.close()
    await store.flush()
  }

  const simulator: Simulator = {
    url,
    port: server.port,
    requests: () => requests,
    creates: store.creates,
    script: (...parts) => scripts.push(joinScripts(parts)),
    finish(taskId, ending) {
      const task = store.get(taskId)
      if (!task) throw new Error(`The simulator has no task ${taskId}`)
      end(task, ending)
    },
    async sendWebhooks() {
      await webhooks?.flush(store.all())
    },
    close() {
      closing ??= close()
      return closing
    },
  }
  const admin = createAdmin(simulator)
  return simulator
}
