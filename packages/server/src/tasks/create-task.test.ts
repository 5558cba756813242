import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { dumpTables } from '../../test/dump-tables.ts'
import { makeRunningTask } from '../../test/make-task.ts'
import { untold } from '../../test/record-notices.ts'
import { scriptedTypes } from '../../test/scripted-types.ts'
import { settleTask } from '../../test/settle-task.ts'
import { createTestDatabase, type TestDatabase } from '../../test/test-database.ts'
import type { Sql } from '../database/connect.ts'
import { HoldfastError } from '../errors.ts'
import { createConversation } from '../plugins/conversations/conversations.ts'
import { conversationsPlugin } from '../plugins/conversations/conversations-plugin.ts'
import type { Plugin } from '../plugins/plugin.ts'
import { type CreateTaskInput, createTask } from './create-task.ts'
import { retryTask } from './retry-task.ts'

let database: TestDatabase
let sql: Sql
beforeAll(async () => {
  database = await createTestDatabase()
  sql = database.sql
  await sql`create table orders (task_id uuid primary key references holdfast.tasks, price int not null)`
})
afterAll(() => database.drop())

const submit = (plugins: Plugin[], { body, ...input }: Partial<CreateTaskInput> = {}) =>
  createTask(
    untold(sql),
    scriptedTypes('nobody'),
    {
      userId: 'ada',
      body: { type: 'image', params: { prompt: 'a fox', api_key: 'hush' }, ...body },
      idempotencyKey: null,
      traceId: 'trace',
      ...input,
    },
    plugins,
  )
const order: Plugin = {
  name: 'orders',
  onSubmit: async (tx, { id }) => {
    await tx`insert into orders values (${id}, 3)`
  },
}

describe('plugins join the submit (F8)', () => {
  it('with rows of their own that refer to the task, in the same transaction', async () => {
    const { task } = await submit([order])
    expect(await sql`select price from orders where task_id = ${task.id}`).toMatchObject([{ price: 3 }])
  })

  it('and are told what is asked for, without secrets', async () => {
    const told: unknown[] = []
    const listener: Plugin = {
      name: 'listener',
      beforeSubmit: async (_, submission) => void told.push(submission),
      onSubmit: async (_, task) => void told.push(task),
    }
    const { task } = await submit([listener], {
      lane: 'vip_short',
      body: {
        type: 'image',
        params: { prompt: 'a fox', token: 'hush' },
        priority: 'high',
        placeholderId: 'p-1',
      },
    })
    const submission = {
      userId: 'ada',
      type: 'image',
      provider: 'nobody',
      params: { prompt: 'a fox' },
      metadata: {},
      conversationId: null,
      placeholderId: 'p-1',
      retryOf: null,
      lane: 'vip_short',
      priority: 10,
    }
    expect(told).toEqual([submission, { ...submission, id: task.id }])
  })

  it.each(['beforeSubmit', 'onSubmit'] as const)(
    'a refusal in %s creates nothing, and is told',
    async (hook) => {
      const before = await dumpTables(sql)
      const refusing: Plugin = {
        name: 'refusing',
        [hook]: async () => {
          throw new HoldfastError('FORBIDDEN', 'Not on a Sunday.')
        },
      }
      await expect(submit([order, refusing], { idempotencyKey: `sunday-${hook}` })).rejects.toMatchObject({
        code: 'FORBIDDEN',
        message: 'Not on a Sunday.',
      })
      expect(await dumpTables(sql)).toEqual(before)
      expect(await submit([order], { idempotencyKey: `sunday-${hook}` })).toMatchObject({ created: true })
    },
  )

  it('a repeated key asks nobody, and makes nothing twice', async () => {
    const input = { idempotencyKey: 'twice' }
    const answers = await Promise.all(Array.from({ length: 6 }, () => submit([order], input)))
    expect(answers.filter(({ created }) => created)).toHaveLength(1)
    expect(new Set(answers.map(({ task }) => task.id)).size).toBe(1)
    const [first] = answers
    expect(await sql`select from orders where task_id = ${first?.task.id ?? ''}`).toHaveLength(1)
  })

  it('a repeated key finds its task though the server no longer takes such ones', async () => {
    const input = {
      userId: 'eve',
      body: { type: 'image', params: { prompt: 'a fox' } },
      idempotencyKey: 'before-the-deploy',
      traceId: 'trace',
    }
    const types = scriptedTypes('nobody')
    const { task } = await createTask(untold(sql), types, input)
    const { image: strict, ...fewer } = types
    if (!strict) throw new Error('There is no such type.')
    const stricter = { ...types, image: { ...strict, params: z.strictObject({ size: z.int() }) } }

    for (const later of [fewer, stricter]) {
      expect(await createTask(untold(sql), later, input)).toMatchObject({
        task: { id: task.id },
        created: false,
      })
    }
    const anew = { ...input, idempotencyKey: 'after-the-deploy' }
    await expect(createTask(untold(sql), fewer, anew)).rejects.toMatchObject({ code: 'UNKNOWN_TASK_TYPE' })
    await expect(createTask(untold(sql), stricter, anew)).rejects.toMatchObject({ code: 'INVALID_PARAMS' })
  })

  it('of two with one key, the second is not refused for the room that the first took', async () => {
    const input = { userId: 'max', perMinute: 1, idempotencyKey: 'room' }
    const answers = await Promise.all([submit([], input), submit([], input)])
    expect(new Set(answers.map(({ task }) => task.id)).size).toBe(1)
  })
})

describe('conversations', () => {
  it('must be the user’s own', async () => {
    const { id } = (await createConversation(untold(sql), 'bob', { title: 'foxes' })).conversation
    const before = await dumpTables(sql)
    for (const conversationId of [id, '01a1e29c-8b2e-7a51-8bd0-bb5fa7e2c861']) {
      const body = { type: 'image', params: { prompt: 'a fox' }, conversationId }
      await expect(submit([conversationsPlugin], { body })).rejects.toMatchObject({ code: 'NOT_FOUND' })
    }
    expect(await dumpTables(sql)).toEqual(before)
  })
})

describe('what is tried again', () => {
  it('while its row is being removed is not found, and not an error of ours', async () => {
    const task = await makeRunningTask(sql)
    await settleTask(sql, task.id, { status: 'cancelled' })
    const retried = retryTask(
      sql,
      async (input) => {
        await sql`delete from holdfast.tasks where id = ${task.id}`
        return submit([], input)
      },
      { userId: 'ada', taskId: task.id, idempotencyKey: null, traceId: 'trace' },
    )
    await expect(retried).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })
})
