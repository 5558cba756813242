import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { makeFinishedTask } from '../../test/finished-task.ts'
import { makeRunningTask, makeTask } from '../../test/make-task.ts'
import { markSending } from '../../test/mark-sending.ts'
import { createMemoryLog } from '../../test/memory-log.ts'
import { recordNotices } from '../../test/record-notices.ts'
import { scriptedTypes } from '../../test/scripted-types.ts'
import { createTestSettle } from '../../test/settle-task.ts'
import { createTestDatabase, type TestDatabase } from '../../test/test-database.ts'
import type { WriteContext } from '../bus/create-notify.ts'
import type { Sql } from '../database/connect.ts'
import { createConversation, markConversationRead } from '../plugins/conversations/conversations.ts'
import { conversationsPlugin } from '../plugins/conversations/conversations-plugin.ts'
import type { Plugin } from '../plugins/plugin.ts'
import { createAftermath } from '../tasks/aftermath.ts'
import { cancelTask } from '../tasks/cancel-task.ts'
import { createSubmit } from '../tasks/create-submit.ts'
import type { Submit } from '../tasks/create-task.ts'
import { createSave } from '../tasks/save-task.ts'
import type { Settlement } from '../tasks/settle-task.ts'
import { writeExpired, writeFailure, writeGivenUp, writeRefresh } from './copy/copy-writes.ts'
import { hastenPolls } from './poll/hasten-polls.ts'
import { type Acceptance, acceptTask } from './send/accept-task.ts'
import { concludeCreate } from './send/conclude-create.ts'
import { createAccept } from './send/create-accept.ts'
import { unmarkSending } from './send/unmark-sending.ts'

let database: TestDatabase
let sql: Sql
let context: WriteContext
/** What was told since the test began. */
let told: string[]
beforeAll(async () => {
  database = await createTestDatabase()
  sql = database.sql
})
afterAll(() => database.drop())
beforeEach(() => {
  const notices = recordNotices()
  told = notices.told
  context = { sql, notify: notices.notify }
})

const FAILED: Settlement = {
  status: 'failed',
  failure: { code: 'PROVIDER_FAILED', message: 'It did not work.', retryable: true },
}
const COMPLETED: Settlement = {
  status: 'completed',
  outputs: [{ url: 'https://p.example/0.png', contentType: 'image/png', urlLifetimeMs: null }],
  mirror: true,
}
const PLAIN = { about: { creditsHeld: 0, conversationId: null } }

const settleWith = (plugins: Plugin[] = [conversationsPlugin]) =>
  createTestSettle(sql, plugins, { ...context, canCancel: () => true })

function acceptance(taskId: string): Acceptance {
  return {
    taskId,
    externalId: `external-${taskId}`,
    provider: 'nobody',
    deadlineMs: 600_000,
    expectedMs: 1_000,
    firstPollMs: 2_000,
    canCancel: true,
  }
}

/** A task whose create is under way, and the claim of that. */
async function makeSent() {
  const { id } = await makeTask(sql)
  const [work] = await sql<{ workId: string; epoch: number }[]>`
    select id::text as "workId", epoch from holdfast.work where task_id = ${id}
  `
  const fence = { workId: work?.workId ?? '', epoch: work?.epoch ?? 0 }
  await markSending(sql, id, fence)
  return { id, fence }
}

describe('a task that is made', () => {
  const ask = (submit: Submit, key: string | null = null, more: object = {}) =>
    submit({
      userId: 'ada',
      body: { type: 'image', params: { prompt: 'a fox' }, ...more },
      idempotencyKey: key,
      traceId: 'trace',
    })
  const submitWith = (plugins: Plugin[] = []) =>
    createSubmit({ ...context, types: scriptedTypes('nobody'), plugins })

  it('wakes its queue and tells its user, alone and with others', async () => {
    const submit = submitWith()
    await ask(submit)
    expect(told.splice(0)).toEqual(['due send nobody', 'changed ada'])
    await Promise.all([ask(submit), ask(submit), ask(submit)])
    expect(told).toEqual(['due send nobody', 'changed ada'])
  })

  it('does so in a transaction of its own, too', async () => {
    await ask(submitWith([{ name: 'app', onSubmit: async () => {} }]))
    expect(told).toEqual(['due send nobody', 'changed ada'])
  })

  it('tells nothing if it was there before, or is refused at the end', async () => {
    const submit = submitWith()
    await ask(submit, 'twice')
    told.length = 0
    await ask(submit, 'twice')
    const refusing = submitWith([{ name: 'app', onSubmit: () => Promise.reject(new Error('not this one')) }])
    await expect(ask(refusing)).rejects.toThrow('not this one')
    expect(told).toEqual([])
  })

  it('wakes the polls if it was adopted', async () => {
    await ask(submitWith(), null, { externalId: 'adopted', provider: 'nobody' })
    expect(told).toEqual(['due poll nobody', 'changed ada'])
  })
})

describe('what a provider has accepted', () => {
  it('tells the user and sets the first poll here, alone and with others', async () => {
    const [one, two] = [await makeTask(sql), await makeTask(sql)]
    await acceptTask(context, acceptance(one.id))
    expect(told.splice(0)).toEqual(['changed ada', 'due here poll nobody in 2000'])
    await createAccept({ ...context, aftermath: createAftermath([]) })(acceptance(two.id))
    expect(told).toEqual(['changed ada', 'due here poll nobody in 2000'])
  })

  it('wakes the cancels if the task has ended meanwhile', async () => {
    const { id } = await makeTask(sql)
    await cancelTask(sql, createTestSettle(sql), 'ada', id)
    await acceptTask(context, acceptance(id))
    expect(told).toEqual(['due cancel nobody'])
  })

  it('tells the user if the task was cancelled on the way and waited for it', async () => {
    const { id } = await makeSent()
    await cancelTask(sql, createTestSettle(sql), 'ada', id)
    await acceptTask(context, acceptance(id))
    expect(told).toEqual(['due cancel nobody', 'changed ada'])
  })
})

describe('what was not accepted', () => {
  const later = { delayMs: 5_000, countAttempt: true, reason: 'busy' }

  it('is due here again, and its user is told if the task shows why', async () => {
    const silent = await makeSent()
    await unmarkSending(context, silent.id, silent.fence, later)
    expect(told.splice(0)).toEqual(['due here send nobody in 5000'])
    const shown = await makeSent()
    await unmarkSending(context, shown.id, shown.fence, { ...later, lastError: 'They are busy.' })
    expect(told.splice(0)).toEqual(['due here send nobody in 5000', 'changed ada'])
    await unmarkSending(context, shown.id, shown.fence, { ...later, lastError: 'They are busy.' })
    expect(told).toEqual([])
  })

  it('tells the user of a task that waited for it, once', async () => {
    const { id } = await makeSent()
    await cancelTask(sql, createTestSettle(sql), 'ada', id)
    const conclude = () => concludeCreate(context, createAftermath([]), { taskId: id, fate: 'not-accepted' })
    await conclude()
    await conclude()
    expect(told).toEqual(['changed ada'])
  })
})

describe('a task that ends', () => {
  it('tells its user and wakes the copying, by itself', async () => {
    const { id } = await makeRunningTask(sql)
    const settle = settleWith()
    await settle(id, COMPLETED)
    expect(told.splice(0)).toEqual(['changed ada', 'due here copy store'])
    await settle(id, COMPLETED)
    await settle(id, FAILED, { fence: { workId: '1', epoch: 0 } })
    expect(told).toEqual([])
  })

  it('with others each user is told once, also where plugins join', async () => {
    for (const about of [PLAIN.about, { creditsHeld: 0, conversationId: 'of a task with a conversation' }]) {
      const settle = settleWith()
      const tasks = [
        await makeRunningTask(sql),
        await makeRunningTask(sql, { userId: 'bob' }),
        await makeRunningTask(sql, { userId: 'bob' }),
      ]
      const results = await Promise.all(
        tasks.map(({ id }, index) => settle(id, index === 2 ? COMPLETED : FAILED, { about })),
      )
      expect(results.map(({ kind }) => kind)).toEqual(['settled', 'settled', 'settled'])
      expect(told.splice(0)).toEqual(['changed ada', 'changed bob', 'due here copy store'])
    }
  })

  it('wakes the cancels exactly if the provider has to be told', async () => {
    const settle = settleWith()
    const [running, waiting] = [await makeRunningTask(sql), await makeTask(sql)]
    await cancelTask(sql, settle, 'ada', running.id)
    expect(told.splice(0)).toEqual(['changed ada', 'due cancel nobody'])
    await cancelTask(sql, settle, 'ada', waiting.id)
    await cancelTask(sql, settle, 'ada', waiting.id)
    expect(told).toEqual(['changed ada'])
  })

  it('tells nothing before it has: not of a try that a plugin broke off', async () => {
    const { id } = await makeRunningTask(sql)
    let tries = 0
    const broken: Plugin = {
      name: 'app',
      onSettled: async () => {
        tries += 1
        expect(told).toEqual([])
        if (tries < 2) throw new Error('out of order')
      },
    }
    await settleWith([broken])(id, FAILED)
    expect(tries).toBe(2)
    expect(told).toEqual(['changed ada'])
  })

  it('tells nothing where it cannot end', async () => {
    const { id } = await makeRunningTask(sql)
    const essential: Plugin = {
      name: 'app',
      essential: true,
      onSettled: () => Promise.reject(new Error('out of order')),
    }
    await expect(settleWith([essential])(id, FAILED)).rejects.toThrow('out of order')
    expect(told).toEqual([])
  })

  it('tells its user once more when what was missing is saved', async () => {
    const { id } = await makeRunningTask(sql)
    let isBroken = true
    const app: Plugin = {
      name: 'app',
      onSettled: () => (isBroken ? Promise.reject(new Error('out of order')) : Promise.resolve()),
    }
    await createTestSettle(sql, [app])(id, COMPLETED)
    const save = createSave({ ...context, plugins: [app], log: createMemoryLog().log })
    await expect(save('ada', id)).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    expect(told).toEqual([])
    isBroken = false
    await save('ada', id)
    await save('ada', id)
    expect(told).toEqual(['changed ada'])
  })
})

describe('a file that is copied', () => {
  async function claimed() {
    const taskId = await makeFinishedTask(sql, { urls: ['https://p.example/0.png'] })
    const [work] = await sql<{ workId: string; epoch: number }[]>`
      select id::text as "workId", epoch from holdfast.work where task_id = ${taskId} and kind = 'copy'
    `
    return { taskId, ordinal: 0, workId: work?.workId ?? '', epoch: work?.epoch ?? 0 }
  }

  it.each([
    ['another URL', 'changed ada', (claim) => writeRefresh(context, claim, { url: 'u', lifetimeMs: null })],
    [
      'that there will be no copy',
      'changed ada',
      (claim) => writeGivenUp(context, claim, { error: 'e', problem: 'p' }),
    ],
    [
      'that its source has died',
      'changed ada',
      (claim) => writeExpired(context, claim, { error: 'e', problem: 'p', lost: null }),
    ],
    [
      'to the loop alone that it is tried again',
      'due here copy store in 300',
      (claim) => writeFailure(context, claim, { error: 'e', delayMs: 300 }),
    ],
  ] satisfies [string, string, (claim: Awaited<ReturnType<typeof claimed>>) => Promise<boolean>][])(
    'tells %s, if the claim is held',
    async (_, notice, write) => {
      const claim = await claimed()
      expect(await write({ ...claim, epoch: claim.epoch + 1 })).toBe(false)
      expect(told).toEqual([])
      expect(await write(claim)).toBe(true)
      expect(told).toEqual([notice])
    },
  )
})

describe('who writes something else', () => {
  it('tells of a conversation when it is made, and of reading it when there was something to read', async () => {
    const { conversation } = await createConversation(context, 'ada', { title: 'foxes' })
    expect(told.splice(0)).toEqual(['changed ada'])
    await createConversation(context, 'ada', { id: conversation.id, title: 'foxes' })
    await markConversationRead(context, 'ada', conversation.id)
    expect(told).toEqual([])
    await sql`update holdfast.conversations set unread_count = 1 where id = ${conversation.id}`
    await markConversationRead(context, 'ada', conversation.id)
    expect(told).toEqual(['changed ada'])
  })

  it('says when polls come sooner, because somebody watches', async () => {
    await makeRunningTask(sql, { userId: 'cy' })
    await makeRunningTask(sql, { userId: 'cy' })
    await hastenPolls(context, 'cy', 1_000)
    expect(told.splice(0)).toEqual(['due poll nobody in 1000'])
    await hastenPolls(context, 'cy', 2_000)
    expect(told).toEqual([])
  })
})
