import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { dumpTables } from '../../test/dump-tables.ts'
import { makeRunningTask, makeTask } from '../../test/make-task.ts'
import { createMemoryLog } from '../../test/memory-log.ts'
import { untold } from '../../test/record-notices.ts'
import { createTestSettle } from '../../test/settle-task.ts'
import { createTestDatabase, type TestDatabase } from '../../test/test-database.ts'
import { untracedLines } from '../../test/untraced-lines.ts'
import type { Sql, Tx } from '../database/connect.ts'
import { createConversation, listConversations } from '../plugins/conversations/conversations.ts'
import { conversationsPlugin } from '../plugins/conversations/conversations-plugin.ts'
import { listMessages } from '../plugins/conversations/messages.ts'
import type { Plugin, SettledTask } from '../plugins/plugin.ts'
import { findTask } from './find-task.ts'
import { createSave } from './save-task.ts'
import type { Settlement } from './settle-task.ts'

let database: TestDatabase
let sql: Sql
beforeAll(async () => {
  database = await createTestDatabase()
  sql = database.sql
  await sql`create table gallery (task_id uuid not null)`
})
afterAll(() => database.drop())

const completed: Settlement = {
  status: 'completed',
  outputs: [{ url: 'https://p.example/0.png', contentType: 'image/png', urlLifetimeMs: null }],
}
const failed: Settlement = {
  status: 'failed',
  failure: { code: 'PROVIDER_FAILED', message: 'It did not work.', retryable: true },
}

/** Messages and an app's own table, each of which can be out of order. */
function createWorld() {
  const broken = { conversations: false, app: false }
  const joins = (plugin: Plugin, name: keyof typeof broken): Plugin => ({
    ...plugin,
    onSettled: async (tx, task) => {
      await plugin.onSettled?.(tx, task)
      if (broken[name]) throw new Error(`${name} is out of order`)
    },
  })
  const app: Plugin = {
    name: 'app',
    onSettled: async (tx: Tx, task: SettledTask) => {
      await tx`insert into gallery values (${task.id})`
    },
  }
  const plugins = [joins(conversationsPlugin, 'conversations'), joins(app, 'app')]
  const { log, lines } = createMemoryLog()
  return {
    broken,
    lines,
    settle: createTestSettle(sql, plugins),
    save: createSave({ ...untold(sql), plugins, log }),
  }
}
type World = ReturnType<typeof createWorld>

async function unsaved(world: World, broken: Partial<World['broken']>, userId = 'ada') {
  const { conversation } = await createConversation(untold(sql), userId, { title: 'foxes' })
  const task = await makeRunningTask(sql, { userId, conversationId: conversation.id, placeholderId: 'p-1' })
  Object.assign(world.broken, broken)
  await world.settle(task.id, completed)
  Object.assign(world.broken, { conversations: false, app: false })
  expect(await findTask(sql, userId, task.id)).toMatchObject({ status: 'completed', saveState: 'failed' })
  return { taskId: task.id, conversationId: conversation.id }
}
const galleryOf = (taskId: string) => sql`select from gallery where task_id = ${taskId}`

describe('saving again (F12)', () => {
  it('writes the message that is missing, with all that belongs to it', async () => {
    const world = createWorld()
    const { taskId, conversationId } = await unsaved(world, { conversations: true })
    const saved = await world.save('ada', taskId)
    expect(saved).toMatchObject({ saveState: 'saved', messageId: expect.any(String) })
    const { messages } = await listMessages(sql, { userId: 'ada', conversationId, limit: 10 })
    expect(messages).toMatchObject([
      {
        id: saved.messageId,
        role: 'assistant',
        content: 'a fox',
        taskId,
        taskType: 'image',
        placeholderId: 'p-1',
        params: { prompt: 'a fox' },
        creditsSpent: 0,
        outputs: [{ url: 'https://p.example/0.png' }],
      },
    ])
    expect(
      (await listConversations(sql, 'ada')).conversations.find(({ id }) => id === conversationId)?.unread,
    ).toBe(1)
    // The app had its part when the task ended, and is not asked again.
    expect(await galleryOf(taskId)).toHaveLength(1)
  })

  it('lets the app make up for its part, and only the app', async () => {
    const world = createWorld()
    const { taskId, conversationId } = await unsaved(world, { app: true })
    expect(await galleryOf(taskId)).toHaveLength(0)
    await world.save('ada', taskId)
    expect(await galleryOf(taskId)).toHaveLength(1)
    const { messages } = await listMessages(sql, { userId: 'ada', conversationId, limit: 10 })
    expect(messages).toHaveLength(1)
  })

  it('however often and however many at once, writes it once', async () => {
    const world = createWorld()
    const { taskId, conversationId } = await unsaved(world, { app: true, conversations: true }, 'bea')
    const answers = await Promise.all(Array.from({ length: 8 }, () => world.save('bea', taskId)))
    expect(new Set(answers.map(({ messageId }) => messageId)).size).toBe(1)
    const before = await dumpTables(sql)
    expect(await world.save('bea', taskId)).toMatchObject({ saveState: 'saved' })
    expect(await dumpTables(sql)).toEqual(before)
    expect(await galleryOf(taskId)).toHaveLength(1)
    const { messages } = await listMessages(sql, { userId: 'bea', conversationId, limit: 10 })
    expect(messages).toHaveLength(1)
    expect(await listConversations(sql, 'bea')).toMatchObject({ conversations: [{ unread: 1 }] })
  })

  it('keeps what could be written, and says that the rest could not', async () => {
    const world = createWorld()
    const { taskId } = await unsaved(world, { app: true, conversations: true })
    world.broken.app = true
    await expect(world.save('ada', taskId)).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      retryAfterSeconds: 30,
    })
    expect(await findTask(sql, 'ada', taskId)).toMatchObject({
      saveState: 'failed',
      messageId: expect.any(String),
    })
    expect(world.lines.join('')).toContain('app is out of order')
    expect(untracedLines(world.lines)).toEqual([])
    expect(await galleryOf(taskId)).toHaveLength(0)
    world.broken.app = false
    expect(await world.save('ada', taskId)).toMatchObject({ saveState: 'saved' })
    expect(await galleryOf(taskId)).toHaveLength(1)
  })

  it('a conversation that is gone by now needs no message', async () => {
    const world = createWorld()
    const { taskId, conversationId } = await unsaved(world, { conversations: true })
    await sql`delete from holdfast.conversations where id = ${conversationId}`
    expect(await world.save('ada', taskId)).toMatchObject({ saveState: 'saved', messageId: null })
  })

  it('a plugin that this server no longer has is let go', async () => {
    const world = createWorld()
    const { taskId } = await unsaved(world, { app: true })
    const save = createSave({ ...untold(sql), plugins: [conversationsPlugin], log: createMemoryLog().log })
    expect(await save('ada', taskId)).toMatchObject({ saveState: 'saved' })
  })

  it('a task that failed can be missing something too, and nothing else to save', async () => {
    const world = createWorld()
    const task = await makeRunningTask(sql)
    world.broken.app = true
    await world.settle(task.id, failed)
    world.broken.app = false
    expect(await world.save('ada', task.id)).toMatchObject({ status: 'failed', saveState: 'none' })
    expect(await galleryOf(task.id)).toHaveLength(1)
    await expect(world.save('ada', task.id)).rejects.toMatchObject({ code: 'NOTHING_TO_SAVE' })
  })

  it.each<[string, string, (world: World) => Promise<string>]>([
    ['is waiting', 'TASK_NOT_FINISHED', async () => (await makeTask(sql)).id],
    ['is running', 'TASK_NOT_FINISHED', async () => (await makeRunningTask(sql)).id],
    [
      'has failed',
      'NOTHING_TO_SAVE',
      async (world) => {
        const task = await makeRunningTask(sql)
        await world.settle(task.id, failed)
        return task.id
      },
    ],
    [
      'was cancelled',
      'NOTHING_TO_SAVE',
      async (world) => {
        const task = await makeTask(sql)
        await world.settle(task.id, { status: 'cancelled' })
        return task.id
      },
    ],
    ['is not there', 'NOT_FOUND', async () => '01a1e29c-8b2e-7a51-8bd0-bb5fa7e2c861'],
    [
      'is somebody else’s',
      'NOT_FOUND',
      async (world) => (await unsaved(world, { conversations: true }, 'eve')).taskId,
    ],
  ])('a task that %s: %s, and nothing changes', async (_, code, make) => {
    const world = createWorld()
    const taskId = await make(world)
    const before = await dumpTables(sql)
    await expect(world.save('ada', taskId)).rejects.toMatchObject({ code })
    expect(await dumpTables(sql)).toEqual(before)
  })
})
