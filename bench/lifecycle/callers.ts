import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'undici'
import { signToken } from '../../packages/server/test/test-tokens.ts'
import { USERS } from './settings.ts'

export interface Submitted {
  prompt: string
  id: string
  user: number
}

interface Created {
  task: { id: string }
}

/** Callers of `POST /v1/tasks`, as browsers of `USERS` users would be. They measure how long each answer takes. */
export interface Callers {
  /** One submit, of this user. */
  submit(user: number): Promise<Submitted>
  /** So many callers, each of whom submits the next one when the last was answered. */
  closedLoop(options: { tasks: number; callers: number }): Promise<{ submitted: Submitted[]; ms: number[] }>
  /** So many submits a second, whether or not the ones before were answered. Latency counts from when each was due. */
  openLoop(options: { perSecond: number; seconds: number }): Promise<{ ms: number[] }>
  /** Whether the file of this task is stored. Throws if the task failed. */
  isStored(task: Submitted): Promise<boolean>
  token(user: number): string
  close(): Promise<void>
}

/** One conversation for each user. */
const conversationOf = (user: number) => `00000000-0000-7000-8000-${String(user).padStart(12, '0')}`

const tokens: Promise<string[]> = Promise.all(
  Array.from({ length: USERS }, (_, user) => signToken(`user-${user}`)),
)
let runs = 0

export async function openCallers(url: string, options: { inConversation?: boolean } = {}): Promise<Callers> {
  // As many as there ever are: an open loop must not wait for a connection.
  const pool = new Pool(url, { connections: 512, pipelining: 1 })
  const known = await tokens
  const token = (user: number) => known[user] ?? ''
  runs += 1
  const run = runs
  let count = 0

  /** By default the users take turns. */
  async function submit(asUser?: number): Promise<Submitted> {
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
    while (true) {
      const { statusCode, headers, body } = await pool.request(call)
      const text = await body.text()
      if (statusCode === 201) return { prompt, user, id: (JSON.parse(text) as Created).task.id }
      // As a browser does: the wait counts as part of the answer's time.
      if (statusCode === 503) await sleep(Number(headers['retry-after'] ?? 1) * 1_000)
      else throw new Error(`A submit was answered with ${statusCode}: ${text.slice(0, 500)}`)
    }
  }

  return {
    token,
    submit,
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
    async openLoop({ perSecond, seconds }) {
      const ms: number[] = []
      const answers: Promise<void>[] = []
      const began = performance.now()
      const total = perSecond * seconds
      while (answers.length < total) {
        const elapsed = performance.now() - began
        const due = Math.min(total, Math.floor((elapsed / 1_000) * perSecond) + 1)
        while (answers.length < due) {
          const dueAt = began + (answers.length / perSecond) * 1_000
          const answer = submit().then(() => {
            ms.push(performance.now() - dueAt)
          })
          // Thrown below, when all have been sent.
          answer.catch(() => {})
          answers.push(answer)
        }
        await sleep(1)
      }
      await Promise.all(answers)
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
