import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'undici'
import { signToken } from '../../packages/server/test/test-tokens.ts'
import { openLoop } from './open-loop.ts'
import { USERS } from './settings.ts'

export interface Submitted {
  prompt: string
  id: string
  user: number
}

/** One try to submit, whatever the answer. */
export interface Attempt {
  prompt: string
  user: number
  status: number
  retryAfter: string | null
  /** Of the task that was made. */
  id: string | null
  body: string
}

interface Created {
  task: { id: string }
}

/** Callers of `POST /v1/tasks`, as browsers of `USERS` users would be. They measure how long each answer takes. */
export interface Callers {
  /** One submit, of this user. */
  submit(user: number): Promise<Submitted>
  /** Asks once, and does not come again. */
  attempt(): Promise<Attempt>
  /** So many callers, each of whom submits the next one when the last was answered. */
  closedLoop(options: { tasks: number; callers: number }): Promise<{ submitted: Submitted[]; ms: number[] }>
  /** So many submits a second, whether or not the ones before were answered. Latency counts from when each was due. */
  openLoop(options: { perSecond: number; seconds: number }): Promise<{ ms: number[] }>
  /** Whether the file of this task is stored. Throws if the task failed. */
  isStored(task: Submitted): Promise<boolean>
  token(user: number): string
  close(): Promise<void>
}

export interface CallersOptions {
  inConversation?: boolean
  /** How submits get to the server. @default a pool of 512 connections */
  ask?: Ask
}

export type Ask = (
  request: Parameters<Pool['request']>[0],
) => Promise<{ statusCode: number; headers: Record<string, string | string[] | undefined>; text: string }>

/** One conversation for each user. */
const conversationOf = (user: number) => `00000000-0000-7000-8000-${String(user).padStart(12, '0')}`

const tokens: Promise<string[]> = Promise.all(
  Array.from({ length: USERS }, (_, user) => signToken(`user-${user}`)),
)
let runs = 0

export async function openCallers(url: string, options: CallersOptions = {}): Promise<Callers> {
  // As many as there ever are: an open loop must not wait for a connection.
  const pool = new Pool(url, { connections: 512, pipelining: 1 })
  const ask =
    options.ask ??
    (async (request) => {
      const { statusCode, headers, body } = await pool.request(request)
      return { statusCode, headers, text: await body.text() }
    })
  const known = await tokens
  const token = (user: number) => known[user] ?? ''
  runs += 1
  const run = runs
  let count = 0

  /** By default the users take turns. */
  function next(asUser?: number): () => Promise<Attempt> {
    count += 1
    const n = count
    const user = asUser ?? n % USERS
    const prompt = `A lighthouse on a basalt cliff at dusk, long exposure, number ${n} of run ${run}`
    const conversation = { id: conversationOf(user), title: 'Lighthouses' }
    const call = {
      method: 'POST',
      path: '/v1/tasks',
      headers: {
        authorization: `Bearer ${token(user)}`,
        'content-type': 'application/json',
        'idempotency-key': `lifecycle-${run}-${n}`,
      },
      body: JSON.stringify({
        type: 'image',
        params: { prompt },
        ...(options.inConversation ? { conversation } : {}),
      }),
    } as const
    return async () => {
      const { statusCode: status, headers, text: body } = await ask(call)
      const retryAfter = headers['retry-after']?.toString() ?? null
      const id = status === 201 ? (JSON.parse(body) as Created).task.id : null
      return { prompt, user, status, retryAfter, id, body }
    }
  }

  async function submit(asUser?: number): Promise<Submitted> {
    const attempt = next(asUser)
    while (true) {
      const { prompt, user, status, retryAfter, id, body } = await attempt()
      if (id !== null) return { prompt, user, id }
      // As a browser does: the wait counts as part of the answer's time.
      if (status === 503) await sleep(Number(retryAfter ?? 1) * 1_000)
      else throw new Error(`A submit was answered with ${status}: ${body.slice(0, 500)}`)
    }
  }

  return {
    token,
    submit,
    attempt: () => next()(),
    async closedLoop({ tasks, callers }) {
      const submitted: Submitted[] = []
      const ms: number[] = []
      let left = tasks
      async function caller(): Promise<void> {
        while (left > 0) {
          left -= 1
          const began = performance.now()
          submitted.push(await submit())
          ms.push(performance.now() - began)
        }
      }
      await Promise.all(Array.from({ length: callers }, caller))
      return { submitted, ms }
    },
    async openLoop(options) {
      const ms: number[] = []
      await openLoop(options, async (dueAt) => {
        await submit()
        ms.push(performance.now() - dueAt)
      })
      return { ms }
    },
    async isStored({ id, user }) {
      const { statusCode, body } = await pool.request({
        method: 'GET',
        path: `/v1/tasks/${id}`,
        headers: { authorization: `Bearer ${token(user)}` },
      })
      const text = await body.text()
      if (statusCode !== 200) throw new Error(`Task ${id}: ${statusCode} ${text.slice(0, 500)}`)
      const { task }: { task: { status: string; result: { outputs: { state: string }[] } | null } } =
        JSON.parse(text)
      if (task.status === 'failed') throw new Error(`Task ${id} failed: ${text.slice(0, 500)}`)
      return task.result?.outputs[0]?.state === 'stored'
    },
    close: () => pool.destroy(),
  }
}
