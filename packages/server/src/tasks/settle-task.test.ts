import type { TaskFailure } from '@holdfast/shared'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { dumpTables } from '../../test/dump-tables.ts'
import { makeRunningTask, makeTask } from '../../test/make-task.ts'
import { untold } from '../../test/record-notices.ts'
import { settleTask } from '../../test/settle-task.ts'
import { createTestDatabase, type TestDatabase } from '../../test/test-database.ts'
import type { Sql, Tx } from '../database/connect.ts'
import { createConversation, listConversations } from '../plugins/conversations/conversations.ts'
import { listMessages } from '../plugins/conversations/messages.ts'
import { findTask } from './find-task.ts'
import type { Settlement } from './settle-task.ts'

let database: TestDatabase
let sql: Sql
beforeAll(async () => {
  database = await createTestDatabase()
  sql = database.sql
})
afterAll(() => database.drop())

const completed: Settlement = {
  status: 'completed',
  outputs: [
    { url: 'https://p.example/0.png', contentType: 'image/png', urlLifetimeMs: 600_000 },
    { url: 'https://p.example/1.bin', contentType: null, urlLifetimeMs: null },
  ],
}
const failure: TaskFailure = { code: 'PROVIDER_FAILED', message: 'It did not work.', retryable: true }

async function workOf(taskId: string) {
  return sql<{ id: string; kind: string; epoch: number }[]>`
    select id::text, kind, epoch from holdfast.work where task_id = ${taskId}
  `
}

/** Passes queries on until the `nth`, from which on all fail, as if the process had died. */
function dyingAt(nth: number): Sql {
  let queries = 0
  const beat = () => {
    queries += 1
    if (queries >= nth) throw new Error('killed')
  }
  const watched = (tx: Tx): Tx =>
    new Proxy(tx, {
      apply(target, self, args) {
        beat()
        return Reflect.apply(target, self, args)
      },
    })
  return new Proxy(sql, {
    get(target, key) {
      if (key !== 'begin') return Reflect.get(target, key)
      return async (steps: (tx: Tx) => Promise<unknown>) => {
        beat()
        return target.begin((tx) => steps(watched(tx)))
      }
    },
  })
}

describe('finishing is one transaction (F4, F11)', () => {
  it('writes status, result, message and unread mark together', async () => {
    const { conversation } = await createConversation(untold(sql), 'ada', { title: 'foxes' })
    const task = await makeRunningTask(sql, { conversationId: conversation.id, placeholderId: 'p-1' })
    expect(await settleTask(sql, task.id, completed)).toEqual({ kind: 'settled', userId: 'ada' })

    const after = await findTask(sql, 'ada', task.id)
    expect(after).toMatchObject({ status: 'completed', progress: 100, failure: null, placeholderId: 'p-1' })
    expect(after?.result?.outputs).toMatchObject([
      { url: 'https://p.example/0.png', contentType: 'image/png', state: 'remote' },
      { url: 'https://p.example/1.bin', contentType: null, urlExpiresAt: null },
    ])
    const expiry = Date.parse(after?.result?.outputs[0]?.urlExpiresAt ?? '')
    expect(expiry - Date.parse(after?.finishedAt ?? '')).toBe(600_000)

    const { messages } = await listMessages(sql, {
      userId: 'ada',
      conversationId: conversation.id,
      limit: 10,
    })
    expect(messages).toMatchObject([
      {
        id: after?.messageId,
        role: 'assistant',
        content: 'a fox',
        taskId: task.id,
        taskType: 'image',
        placeholderId: 'p-1',
        params: { prompt: 'a fox' },
        outputs: after?.result?.outputs,
      },
    ])
    expect(await listConversations(sql, 'ada')).toMatchObject({
      conversations: [{ id: conversation.id, unread: 1 }],
    })
    expect(await workOf(task.id)).toEqual([])
  })

  it('leaves nothing behind when it is killed at any query', async () => {
    const { conversation } = await createConversation(untold(sql), 'eve', { title: 'foxes' })
    const task = await makeRunningTask(sql, { userId: 'eve', conversationId: conversation.id })
    const before = await dumpTables(sql)
    let killed = 0
    for (;;) {
      const outcome = await settleTask(dyingAt(killed + 1), task.id, completed).catch(
        (error: Error) => error.message,
      )
      if (outcome !== 'killed') break
      expect(await dumpTables(sql)).toEqual(before)
      killed += 1
    }
    expect(killed).toBeGreaterThanOrEqual(10)
    expect(await findTask(sql, 'eve', task.id)).toMatchObject({ status: 'completed' })
  })

  it('leaves nothing behind when PostgreSQL refuses the last part of it', async () => {
    const { conversation } = await createConversation(untold(sql), 'fay', { title: 'foxes' })
    const task = await makeRunningTask(sql, { userId: 'fay', conversationId: conversation.id })
    const before = await dumpTables(sql)
    const unwritable: Settlement = {
      status: 'completed',
      outputs: [{ url: 'https://p.example/0.png', contentType: null, urlLifetimeMs: Number.NaN }],
    }
    await expect(settleTask(sql, task.id, unwritable)).rejects.toThrow()
    expect(await dumpTables(sql)).toEqual(before)
  })

  it('makes no message without a conversation (F14), nor for a task that failed or was cancelled', async () => {
    const { conversation } = await createConversation(untold(sql), 'gus', { title: 'foxes' })
    const alone = await makeRunningTask(sql, { userId: 'gus' })
    await settleTask(sql, alone.id, completed)
    const failed = await makeRunningTask(sql, { userId: 'gus', conversationId: conversation.id })
    await settleTask(sql, failed.id, { status: 'failed', failure })
    const cancelled = await makeTask(sql, { userId: 'gus', conversationId: conversation.id })
    await settleTask(sql, cancelled.id, { status: 'cancelled' })

    expect(await findTask(sql, 'gus', alone.id)).toMatchObject({ status: 'completed', messageId: null })
    expect(await findTask(sql, 'gus', failed.id)).toMatchObject({ status: 'failed', failure, result: null })
    expect(await findTask(sql, 'gus', cancelled.id)).toMatchObject({ status: 'cancelled', startedAt: null })
    expect(await sql`select from holdfast.messages where user_id = 'gus'`).toHaveLength(0)
    expect(await listConversations(sql, 'gus')).toMatchObject({ conversations: [{ unread: 0 }] })
  })

  it('works with no files and with a conversation that is gone by now', async () => {
    const { conversation } = await createConversation(untold(sql), 'hal', { title: 'foxes' })
    const task = await makeRunningTask(sql, { userId: 'hal', conversationId: conversation.id })
    await sql`delete from holdfast.conversations where id = ${conversation.id}`
    await settleTask(sql, task.id, { status: 'completed', outputs: [] })
    expect(await findTask(sql, 'hal', task.id)).toMatchObject({
      status: 'completed',
      conversationId: null,
      messageId: null,
      result: { outputs: [] },
    })
  })
})

describe('two observers of one finish (F10)', () => {
  it('change the row once, whoever they are and however many', async () => {
    const { conversation } = await createConversation(untold(sql), 'ida', { title: 'foxes' })
    const tasks = await Promise.all(
      Array.from({ length: 10 }, () =>
        makeRunningTask(sql, { userId: 'ida', conversationId: conversation.id }),
      ),
    )
    const settlements: Settlement[] = [
      completed,
      completed,
      { status: 'failed', failure },
      { status: 'cancelled' },
      completed,
    ]
    const results = await Promise.all(
      tasks.flatMap((task) => settlements.map((settlement) => settleTask(sql, task.id, settlement))),
    )
    expect(results.filter(({ kind }) => kind === 'settled')).toHaveLength(tasks.length)
    expect(results.filter(({ kind }) => kind === 'already-ended')).toHaveLength(tasks.length * 4)

    let messages = 0
    for (const { id } of tasks) {
      const task = await findTask(sql, 'ida', id)
      // Created, accepted, settled; the message is written down in the same transaction.
      expect(task?.version).toBe(task?.status === 'completed' ? 4 : 3)
      const own = await sql`select from holdfast.messages where task_id = ${id}`
      expect(own).toHaveLength(task?.status === 'completed' ? 1 : 0)
      messages += own.length
    }
    expect(await listConversations(sql, 'ida')).toMatchObject({ conversations: [{ unread: messages }] })
  })

  it('the loser changes nothing at all', async () => {
    const task = await makeRunningTask(sql, { userId: 'jan' })
    await settleTask(sql, task.id, completed)
    const before = await dumpTables(sql)
    expect(await settleTask(sql, task.id, { status: 'failed', failure })).toEqual({ kind: 'already-ended' })
    expect(await dumpTables(sql)).toEqual(before)
  })

  it('a task that is not there has nothing to end', async () => {
    expect(await settleTask(sql, '0199d2a0-0000-7000-8000-000000000001', completed)).toEqual({
      kind: 'already-ended',
    })
  })
})

describe('the fence', () => {
  it('lets whoever holds the claim decide, and nobody who held it before', async () => {
    const task = await makeRunningTask(sql, { userId: 'kim' })
    const [work] = await workOf(task.id)
    const fence = { workId: work?.id ?? '', epoch: work?.epoch ?? 0 }
    await sql`update holdfast.work set epoch = epoch + 1 where id = ${fence.workId}`
    const before = await dumpTables(sql)
    expect(await settleTask(sql, task.id, { status: 'failed', failure }, fence)).toEqual({ kind: 'fenced' })
    expect(await dumpTables(sql)).toEqual(before)
    expect(
      await settleTask(sql, task.id, { status: 'failed', failure }, { ...fence, epoch: fence.epoch + 1 }),
    ).toMatchObject({ kind: 'settled' })
  })

  it('holds even for a writer that had to wait for the claim’s row', async () => {
    const task = await makeRunningTask(sql, { userId: 'lea' })
    const [work] = await workOf(task.id)
    const fence = { workId: work?.id ?? '', epoch: work?.epoch ?? 0 }
    let late: Promise<unknown> | undefined
    await sql.begin(async (tx) => {
      await tx`update holdfast.work set epoch = epoch + 1 where id = ${fence.workId}`
      late = settleTask(sql, task.id, { status: 'failed', failure }, fence)
      await untilSomebodyWaits()
    })
    expect(await late).toEqual({ kind: 'fenced' })
    expect(await findTask(sql, 'lea', task.id)).toMatchObject({ status: 'running' })
  })

  it('is lost with the work itself', async () => {
    const task = await makeRunningTask(sql, { userId: 'max' })
    const [work] = await workOf(task.id)
    await sql`delete from holdfast.work where task_id = ${task.id}`
    expect(
      await settleTask(sql, task.id, { status: 'failed', failure }, { workId: work?.id ?? '', epoch: 0 }),
    ).toEqual({ kind: 'fenced' })
  })
})

async function untilSomebodyWaits(): Promise<void> {
  for (;;) {
    const waiting = await sql`
      select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
    `
    if (waiting.length > 0) return
  }
}
