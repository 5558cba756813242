import type { IncomingHttpHeaders } from 'node:http'
import type { RateLimit } from './rate-window.ts'
import type { Answer, Reply } from './reply.ts'
import type { ResultFile } from './result-files.ts'
import type { Ending, NewTask, SimulatedTask, TaskState } from './simulated-task.ts'
import type { SignatureFault, WebhookEvent } from './webhooks.ts'

/** A request, as a vendor's routes see it. */
export interface Call {
  method: string
  url: URL
  headers: IncomingHttpHeaders
  /** The named groups of the route's path. */
  path: Record<string, string>
  body: Buffer
  /** The body as an object; null if it is none. */
  json: Record<string, unknown> | null
}

interface RouteMatch {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Matched against the whole path name. Names the task in a group `id`, except for creates and others. */
  path: RegExp
}

export type Route =
  /** Makes a task, with everything that can go wrong with that. `read` says what is wanted, or refuses. */
  | (RouteMatch & {
      kind: 'create'
      read(call: Call): NewTask | Reply
      reply(task: SimulatedTask, call: Call): Answer
    })
  /** Asks how a task is, with everything that can go wrong with that. */
  | (RouteMatch & { kind: 'query'; reply(task: SimulatedTask, call: Call): Answer | Promise<Answer> })
  /** Does something to a task that is there: cancels it, lists its files. */
  | (RouteMatch & { kind: 'task'; reply(task: SimulatedTask, call: Call): Answer | Promise<Answer> })
  | (RouteMatch & {
      kind: 'other'
      /** Answered without a key. */
      isOpen?: boolean
      reply(call: Call): Answer | Promise<Answer>
    })

/** All that makes one vendor different from the others. */
export interface Vendor {
  routes: Route[]
  /** Words in brackets of its own, beside the common ones. */
  words?: Record<string, string>
  /** Those of its words that decide how a task ends. */
  endings?: Record<string, Ending>
  error(status: number, detail: string, call: Call): Reply
  /** Null where the request carries none in the vendor's form. */
  keyOf(headers: IncomingHttpHeaders): string | null
  newId(task: NewTask): string
  rateLimit: RateLimit
  fileTtlMs: number
  /** Where the vendor calls back. */
  webhooks?: {
    eventsOf(task: SimulatedTask): WebhookEvent[]
    bodyOf(task: SimulatedTask, event: WebhookEvent): string
    sign(
      task: SimulatedTask,
      event: WebhookEvent,
      body: string,
      atMs: number,
      fault: SignatureFault,
    ): Record<string, string>
    attempts: number
  }
}

/** What the simulation offers to a vendor's routes. */
export interface Simulation {
  now(): number
  /** Without a slash at the end. */
  publicUrl(): string
  stateOf(task: SimulatedTask): TaskState
  task(taskId: string): SimulatedTask | undefined
  tasks(): Iterable<SimulatedTask>
  /** The result URLs of a task, good until `expires` (by default the vendor's lifetime after its end). */
  urlsOf(task: SimulatedTask, expires?: number): string[]
  /** Serves a result file with the faults of file servers, for vendors that give files out behind their key. */
  file(task: SimulatedTask, index: number, leftMs: number): Answer
  readFile(task: SimulatedTask, index: number): Promise<ResultFile>
  /** Ends a task now, and lets its webhooks know. */
  end(task: SimulatedTask, ending?: Ending): void
}
