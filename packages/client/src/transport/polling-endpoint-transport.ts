import { isTerminal, type SyncAnswer, type Task } from '@holdfast/shared'
import { HoldfastError } from '../holdfast-error.ts'
import type { Http } from './http.ts'
import type { CreateTransport, SubmitBody, Transport } from './transport.ts'

/** How many tasks are asked about at the same time. */
const AT_ONCE = 4

/** What your endpoint must tell of a task; the rest is filled in. */
export type EndpointTask = Pick<Task, 'id' | 'type' | 'status'> & Partial<Omit<Task, 'version'>>

export interface PollingEndpointOptions {
  /** Where your endpoints are: `https://app.example/api`. The token goes there, and nowhere else. */
  url: string
  /** GET: this user's running tasks, as an array or as `{ tasks: […] }`. @default '/tasks/pending' */
  runningPath?: string
  /** GET: one task. @default (id) => `/tasks/${id}` */
  statusPath?: (taskId: string) => string
  /** Turns what your endpoints say of a task into what the client understands. */
  read(task: unknown): EndpointTask
  /**
   * Starts one: `http.json('POST', '/tasks', …)`, seen from `url`. Send the key along: the client repeats a submit whose
   * answer was lost. Left out: it refuses.
   */
  submit?(http: Http, body: SubmitBody, key: string): Promise<unknown>
  cancel?(http: Http, taskId: string): Promise<unknown>
  retry?(http: Http, taskId: string, key: string): Promise<unknown>
  save?(http: Http, taskId: string): Promise<unknown>
}

/**
 * For an app that has endpoints of its own: one that lists a user's running tasks and one that tells how a task is.
 * There is no stream, so the client polls; a task that is no longer running is asked about once more, by itself.
 */
export function createPollingEndpointTransport(options: PollingEndpointOptions): CreateTransport {
  const { url, runningPath = '/tasks/pending', read } = options
  const statusPath = options.statusPath ?? ((taskId) => `/tasks/${encodeURIComponent(taskId)}`)

  return ({ http: holdfast, clock }): Transport => {
    const http = holdfast.at(url)
    const complete = (raw: unknown) => toTask(read(raw), clock.now())

    async function running(): Promise<Task[]> {
      const answer = await http.json<unknown[] | { tasks: unknown[] }>('GET', runningPath)
      return (Array.isArray(answer) ? answer : answer.tasks).map(complete)
    }

    /** Null: there is no such task any more. */
    async function status(taskId: string): Promise<Task | null> {
      try {
        return complete(await http.json('GET', statusPath(taskId)))
      } catch (error) {
        if (error instanceof HoldfastError && error.code === 'NOT_FOUND') return null
        throw error
      }
    }

    async function call<K extends 'submit' | 'cancel' | 'retry' | 'save'>(
      name: K,
      run: (use: NonNullable<PollingEndpointOptions[K]>) => Promise<unknown>,
    ): Promise<Task> {
      const use = options[name]
      if (!use) throw new HoldfastError('UNSUPPORTED', `This app's endpoints have no "${name}".`)
      return complete(await run(use as NonNullable<PollingEndpointOptions[K]>))
    }

    return {
      async sync({ known }): Promise<SyncAnswer> {
        const tasks = await running()
        const listed = new Set(tasks.map((task) => task.id))
        const gone: string[] = []
        // What was final when we last looked stays so.
        const left = Object.keys(known).filter((id) => !listed.has(id) && (known[id]?.[0] ?? 0) < FINAL)
        const ask = async () => {
          for (let id = left.pop(); id !== undefined; id = left.pop()) {
            const task = await status(id)
            if (task) tasks.push(task)
            else gone.push(id)
          }
        }
        await Promise.all(Array.from({ length: AT_ONCE }, ask))
        const now = new Date(clock.now()).toISOString()
        return { tasks, gone, cursor: now, now }
      },
      submit: (body, key) => call('submit', (use) => use(http, body, key)),
      cancel: (taskId) => call('cancel', (use) => use(http, taskId)),
      retry: (taskId, key) => call('retry', (use) => use(http, taskId, key)),
      save: (taskId) => call('save', (use) => use(http, taskId)),
    }
  }
}

const FINAL = 3

/**
 * The same on every device and after every reload, since all of it follows from what the endpoint says: pending,
 * running, final, final with a message.
 */
function versionOf({ status, messageId }: EndpointTask): number {
  if (isTerminal(status)) return messageId ? FINAL + 1 : FINAL
  return status === 'running' ? 2 : 1
}

function toTask(given: EndpointTask, now: number): Task {
  const at = given.createdAt ?? given.startedAt ?? new Date(now).toISOString()
  return {
    provider: '',
    progress: null,
    queuePosition: null,
    params: {},
    result: null,
    failure: null,
    conversationId: null,
    placeholderId: null,
    messageId: null,
    saveState: 'none',
    parentId: null,
    retryOf: null,
    credits: { held: 0, spent: 0, returned: 0 },
    estimatedAt: null,
    lane: 'free_default',
    priority: 5,
    metadata: {},
    attempts: 0,
    lastError: null,
    nextAttemptAt: null,
    createdAt: at,
    startedAt: null,
    finishedAt: isTerminal(given.status) ? new Date(now).toISOString() : null,
    deadlineAt: null,
    updatedAt: at,
    ...given,
    version: versionOf(given),
  }
}
