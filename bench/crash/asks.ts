import { randomUUID } from 'node:crypto'
import type { Task } from '@holdfast/shared'
import { signKieCallback } from '../../packages/server/src/providers/webhook-signatures/kie-hmac.ts'
import { MOST_DELIVERY_ATTEMPTS } from '../../packages/server/src/work/deliver/delivery-pace.ts'
import { type AskState, isQuiet, readAskState } from './ask-state.ts'
import type { CrashLab } from './crash-lab.ts'
import { ADMIN, HMAC_KEY, SERVICE_KEY } from './orders.ts'
import type { Asks } from './scenario.ts'
import { sendElsewhere } from './send-elsewhere.ts'
import type { Stage } from './stage.ts'
import { until } from './until.ts'

interface AskScene {
  lab: CrashLab
  stage: Stage<AskState>
}

/** What is asked, and what may be found in the database meanwhile. */
export interface AskPlan {
  /** Repeated until it is answered. */
  ask(): Promise<{ status: number; answer: unknown }>
  /** The statuses of a good answer. */
  statuses: readonly number[]
  /** What every answer must say alike. */
  same?(answer: unknown): unknown
  /** The part of the database that it changes. */
  view(state: AskState): string
  /** What that says before, perhaps for a moment in between, and from its answer on. Nothing else at any death. */
  steps: readonly string[]
  /** What happens after the answer. */
  goOn?(): Promise<void>
  /** What else must hold in the end: each sentence that does not. */
  find?(end: AskState): string[]
}

const WITHIN = { withinMs: 30_000 }
const PICTURE = 'a lighthouse [fast]'
const FAILURE = 'a lighthouse [fast] [fail]'
/** Its create is refused until it is given up. */
const HOPELESS = 'a lighthouse [code:500]'

/** Prepares a request by what a first process does, and says what comes of it. */
export const ASKS: Record<Asks, (scene: AskScene) => Promise<AskPlan>> = {
  async 'make-conversation'({ stage }) {
    const body = { id: randomUUID(), title: 'Crash' }
    return {
      ask: () => stage.client.ask('/v1/conversations', { body }),
      statuses: [201],
      same: (answer) => answer,
      view: ({ conversations }) => `${conversations} conversations`,
      steps: ['0 conversations', '1 conversations'],
    }
  },

  async 'read-conversation'({ stage }) {
    const id = randomUUID()
    await before(stage, async () => {
      await stage.client.createConversation(id)
      await submit(stage, PICTURE, id)
      await untilQuiet(stage)
    })
    return {
      ask: () => stage.client.ask(`/v1/conversations/${id}/read`),
      statuses: [200],
      same: (answer) => answer,
      view: ({ unread }) => `${unread} unread`,
      steps: ['1 unread', '0 unread'],
    }
  },

  async retry({ stage }) {
    const task = await runToItsEnd(stage, FAILURE)
    const key = randomUUID()
    return {
      ask: () => stage.client.ask(`/v1/tasks/${task.id}/retry`, { key }),
      statuses: [200, 201],
      same: idOfTask,
      view: countTasks,
      steps: ['1 tasks, 1 keys, 1 holds', '2 tasks, 2 keys, 2 holds'],
    }
  },

  async 'adopt-again'({ stage }) {
    const { client } = stage
    const externalId = await sendElsewhere(stage.simulator.url, 'image', PICTURE)
    const body = {
      type: 'image',
      params: { prompt: PICTURE },
      provider: 'kie',
      externalId,
      userId: client.userId,
    }
    const adopt = (key: string) => client.ask('/v1/tasks', { body, key, token: SERVICE_KEY })
    const first = await before(stage, async () => {
      const { answer } = await adopt(randomUUID())
      await untilQuiet(stage)
      return answer
    })
    const key = randomUUID()
    return {
      ask: () => adopt(key),
      statuses: [200],
      same: (answer) => [idOfTask(answer), idOfTask(first)],
      view: countTasks,
      steps: ['1 tasks, 1 keys, 1 holds'],
    }
  },

  async 'retry-letter'({ stage }) {
    await runToItsEnd(stage, HOPELESS)
    const id = await idOfLetter(stage)
    return {
      ask: () => stage.client.ask(`/v1/admin/dead-letters/${id}/retry`, { token: ADMIN }),
      statuses: [201],
      same: idOfTask,
      view: ({ tasks, letters }) => `${tasks.length} tasks, ${letters[0]}`,
      steps: ['1 tasks, send open', '2 tasks, send open', '2 tasks, send retried'],
    }
  },

  async 'discard-letter'({ stage }) {
    await runToItsEnd(stage, HOPELESS)
    const id = await idOfLetter(stage)
    return {
      ask: () => stage.client.ask(`/v1/admin/dead-letters/${id}/discard`, { token: ADMIN }),
      statuses: [200],
      view: ({ letters }) => letters.join(),
      steps: ['send open', 'send discarded'],
    }
  },

  async redeliver({ stage }) {
    const { sql, client, listener } = stage
    await before(stage, async () => {
      await until('an endpoint', async () => (await sql`select from holdfast.webhook_endpoints`)[0], WITHIN)
      await submit(stage, PICTURE)
      await until(
        'a task that has ended',
        async () => (await sql`select from holdfast.tasks where finished_at is not null`)[0],
        WITHIN,
      )
    })
    await sql`
      update holdfast.work set attempts = ${MOST_DELIVERY_ATTEMPTS - 1}, due_at = now() where kind = 'deliver'
    `
    await before(stage, () => untilQuiet(stage))
    const id = await idOfLetter(stage)
    listener?.listen()
    return {
      ask: () => client.ask(`/v1/admin/dead-letters/${id}/retry`, { token: ADMIN }),
      statuses: [201],
      same: idOfTask,
      view: ({ letters, untold }) => `${letters.join()}, ${untold.givenUp} given up`,
      steps: ['deliver open, 3 given up', 'deliver retried, 0 given up'],
      find() {
        // A repeat is known by its id.
        const events = [...new Map(listener?.heard.map(({ id, event }) => [id, event])).values()].join()
        return events === 'task.submitted,task.started,task.completed'
          ? []
          : [`the application heard ${events}`]
      },
    }
  },

  async save({ stage }) {
    await stage.sql`create table public.remembered (task_id uuid)`
    const task = await runToItsEnd(stage, PICTURE)
    stage.change('plugin-remembers')
    return {
      ask: () => stage.client.ask(`/v1/tasks/${task.id}/save`),
      statuses: [200],
      same: idOfTask,
      view: ({ tasks, remembered }) => `unsaved "${tasks[0]?.unsaved.join()}", ${remembered} rows`,
      steps: ['unsaved "forgetful", 0 rows', 'unsaved "", 1 rows'],
    }
  },

  async grant({ stage }) {
    const key = randomUUID()
    const body = { userId: stage.client.userId, amount: 50, reason: 'a prize' }
    return {
      ask: () => stage.client.ask('/v1/admin/credits/grants', { body, key, token: ADMIN }),
      statuses: [200, 201],
      same: (answer) => answer,
      view: ({ ledger }) => ledger.join(),
      steps: ['', 'grant 50,grant 100'],
    }
  },

  async 'give-back'({ stage }) {
    const task = await runToItsEnd(stage, PICTURE)
    const body = { taskId: task.id, reason: 'it was too dark' }
    return {
      ask: () => stage.client.ask('/v1/admin/credits/refunds', { body, token: ADMIN }),
      statuses: [200, 201],
      same: (answer) => answer,
      view: ({ ledger }) => ledger.join(),
      steps: ['capture 4,grant 100,hold 4', 'adjust 4,capture 4,grant 100,hold 4'],
    }
  },

  async 'first-balance'({ stage }) {
    return {
      ask: () => stage.client.ask('/v1/credits', { method: 'GET' }),
      statuses: [200],
      same: (answer) => answer,
      view: ({ ledger }) => ledger.join(),
      steps: ['', 'grant 100'],
    }
  },

  async 'call-back'({ stage }) {
    const task = await runUntilFinishedThere(stage)
    return {
      ...callBack(stage, await ownAddress(stage, task.id)),
      view: ({ received }) => `${received} received`,
      steps: ['0 received', '1 received'],
      find: findUncompleted,
    }
  },

  async 'call-back-account'({ stage }) {
    await runUntilFinishedThere(stage)
    return {
      ...callBack(stage, '/v1/webhooks/kie'),
      view: ({ received }) => `${received} received`,
      steps: ['0 received', '1 received'],
      find: findUncompleted,
    }
  },

  async 'call-back-early'({ stage }) {
    const { sql, client } = stage
    const task = await loseReply(stage)
    // A replica that claims it before the callback would give it up as unknown.
    await sql`update holdfast.work set due_at = now() + interval '1 h' where kind = 'send'`
    return {
      ...callBack(stage, await ownAddress(stage, task.id)),
      view: ({ received, reported }) => `${received} received, ${reported} reported`,
      steps: ['0 received, 0 reported', '1 received, 1 reported'],
      async goOn() {
        await sql`update holdfast.work set due_at = now() where kind = 'send'`
        // So that it is not half a minute until its first poll.
        client.watch()
      },
      find: findUncompleted,
    }
  },

  async 'call-back-late'({ stage }) {
    const task = await loseReply(stage)
    await before(stage, () => untilQuiet(stage))
    return {
      ...callBack(stage, await ownAddress(stage, task.id)),
      view: ({ tasks, received }) => `${tasks[0]?.externalId ? 'known' : 'unknown'}, ${received} received`,
      // A webhook whose id is kept is not looked at again: what it tells has to be written by then.
      steps: ['unknown, 0 received', 'known, 0 received', 'known, 1 received'],
      find: ({ tasks }) =>
        tasks[0]?.failureCode === 'SUBMIT_UNKNOWN' ? [] : [`it ended as ${tasks[0]?.failureCode}`],
    }
  },
}

/** What a process does that is killed before the watched one starts. */
async function before<T>(stage: Stage<AskState>, act: () => Promise<T>): Promise<T> {
  const first = await stage.start()
  const result = await act()
  await first.kill()
  await stage.bury(first)
  return result
}

async function submit({ client }: Stage, prompt: string, conversationId?: string): Promise<Task> {
  const key = randomUUID()
  const { task } = await client.submit(
    {
      type: 'image',
      params: { prompt },
      ...(conversationId ? { conversationId } : {}),
      placeholderId: `placeholder-${key}`,
    },
    key,
  )
  return task
}

async function untilQuiet({ sql }: Stage): Promise<void> {
  await until('nothing left to do', async () => isQuiet(await readAskState(sql)), WITHIN)
}

function runToItsEnd(stage: Stage<AskState>, prompt: string): Promise<Task> {
  return before(stage, async () => {
    const task = await submit(stage, prompt)
    await untilQuiet(stage)
    return task
  })
}

/** Running as far as we know, and not to be polled for an hour. */
async function runUntilFinishedThere(stage: Stage<AskState>): Promise<Task> {
  const { sql, gate, simulator } = stage
  const task = await before(stage, async () => {
    const submitted = await submit(stage, PICTURE)
    await until('a poll', async () => (await sql`select from holdfast.work where kind = 'poll'`)[0], WITHIN)
    return submitted
  })
  await sql`update holdfast.work set due_at = now() + interval '1 h' where kind = 'poll'`
  const record = new URL(`/api/v1/jobs/recordInfo?taskId=${gate.accepted()}`, simulator.url)
  const headers = { authorization: 'Bearer crash-key', 'user-agent': 'Mozilla/5.0' }
  await until(
    'a result at the provider',
    async () => (await (await fetch(record, { headers })).text()).includes('"success"'),
    WITHIN,
  )
  return task
}

/** Its create has been accepted, and the process that waited for the reply is dead. */
async function loseReply(stage: Stage<AskState>): Promise<Task> {
  const { gate, simulator } = stage
  gate.hold()
  const task = await before(stage, async () => {
    const submitted = await submit(stage, PICTURE)
    await until('the create at the provider', async () => simulator.creates() === 1, WITHIN)
    return submitted
  })
  gate.release()
  return task
}

/** The address that only the provider was given. */
async function ownAddress({ sql }: Stage, taskId: string): Promise<string> {
  const [job] = await sql<[{ secret: string }]>`
    select callback_secret as secret from holdfast.provider_jobs where task_id = ${taskId}
  `
  return `/v1/webhooks/kie/${taskId}/${job.secret}`
}

/** A webhook that is sent again as it was until it is taken, as by all who follow Standard Webhooks. */
function callBack({ client, gate }: Stage, path: string): Pick<AskPlan, 'ask' | 'statuses'> {
  const taskId = gate.accepted()
  const timestamp = Math.floor(Date.now() / 1000)
  const headers = {
    'x-webhook-timestamp': String(timestamp),
    'x-webhook-signature': signKieCallback(HMAC_KEY, taskId, timestamp),
  }
  return { ask: () => client.ask(path, { body: { code: 200, data: { taskId } }, headers }), statuses: [200] }
}

function findUncompleted({ tasks }: AskState): string[] {
  return tasks[0]?.status === 'completed' ? [] : [`it is ${tasks[0]?.status} ${tasks[0]?.failureCode ?? ''}`]
}

function countTasks({ tasks, keys, ledger }: AskState): string {
  const holds = ledger.filter((entry) => entry.startsWith('hold')).length
  return `${tasks.length} tasks, ${keys} keys, ${holds} holds`
}

function idOfTask(answer: unknown): string {
  return (answer as { task: Task }).task.id
}

async function idOfLetter({ sql }: Stage): Promise<string> {
  const [letter] = await sql<[{ id: string }]>`select id from holdfast.dead_letters`
  return letter.id
}
