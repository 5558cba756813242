import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeRunningTask, makeTask } from '../../test/make-task.ts'
import { untold } from '../../test/record-notices.ts'
import { scriptedTypes } from '../../test/scripted-types.ts'
import { createTestSettle } from '../../test/settle-task.ts'
import { createTestDatabase, type TestDatabase } from '../../test/test-database.ts'
import { connect, type Sql } from '../database/connect.ts'
import type { Settle } from '../tasks/create-settle.ts'
import { createTask, type Submit } from '../tasks/create-task.ts'
import { findTask } from '../tasks/find-task.ts'
import type { Settlement } from '../tasks/settle-task.ts'
import { discardDeadLetter, listDeadLetters, retryDeadLetter } from './dead-letters.ts'
import { giveUp } from './give-up.ts'
import { type GivenUp, writeDeadLetter } from './write-dead-letter.ts'

let database: TestDatabase
let sql: Sql
let settle: Settle
beforeAll(async () => {
  database = await createTestDatabase()
  sql = connect(database.url)
  settle = createTestSettle(sql)
})
afterAll(async () => {
  await sql.end()
  await database.drop()
})

const types = scriptedTypes('nobody')
const submit: Submit = (input) => createTask(untold(sql), types, input)
const refused: Settlement = {
  status: 'failed',
  failure: { code: 'SUBMIT_REFUSED', message: 'Not today.', retryable: true },
}
const letterFor = (taskId: string, changes: Partial<GivenUp> = {}): GivenUp => ({
  taskId,
  userId: 'ada',
  kind: 'send',
  provider: 'nobody',
  lane: 'free_default',
  attempts: 2,
  reason: 'SUBMIT_REFUSED: Not today.',
  ...changes,
})
const openLetterOf = async (taskId: string) =>
  (await listDeadLetters(sql, null)).find((letter) => letter.taskId === taskId)
async function givenUp(): Promise<{ taskId: string; letterId: string }> {
  const task = await makeTask(sql, { placeholderId: 'p-1', metadata: { shelf: 3 } })
  await giveUp(settle, refused, letterFor(task.id))
  return { taskId: task.id, letterId: (await openLetterOf(task.id))?.id ?? '' }
}
const resolutionOf = async (letterId: string) => {
  const [row] =
    await sql`select resolution, retry_task_id as "retryTaskId" from holdfast.dead_letters where id = ${letterId}`
  return row
}
const retry = (letterId: string) => retryDeadLetter(untold(sql), submit, letterId, 'trace')

describe('giveUp (Q6)', () => {
  it('ends the task and leaves a letter that says why, together', async () => {
    const { taskId } = await givenUp()
    expect(await findTask(sql, 'ada', taskId)).toMatchObject({
      status: 'failed',
      failure: { code: 'SUBMIT_REFUSED' },
    })
    expect(await openLetterOf(taskId)).toMatchObject(letterFor(taskId, { attempts: 3 }))
  })

  it('leaves none when somebody else ended the task first, or holds the claim', async () => {
    const ended = await makeRunningTask(sql)
    await giveUp(settle, { status: 'cancelled' }, letterFor(ended.id))
    const before = (await listDeadLetters(sql, null)).length
    expect(await giveUp(settle, refused, letterFor(ended.id))).toEqual({ kind: 'already-ended' })
    const taken = await makeTask(sql)
    expect(await giveUp(settle, refused, letterFor(taken.id), { fence: { workId: '0', epoch: 0 } })).toEqual({
      kind: 'fenced',
    })
    expect((await findTask(sql, 'ada', taken.id))?.status).toBe('pending')
    expect(await listDeadLetters(sql, null)).toHaveLength(before)
  })

  it('leaves one letter for a step, however often it is written', async () => {
    const { taskId } = await givenUp()
    await sql.begin((tx) => writeDeadLetter(tx, letterFor(taskId, { reason: 'again' })))
    const letters = (await listDeadLetters(sql, null)).filter((letter) => letter.taskId === taskId)
    expect(letters).toMatchObject([{ reason: 'SUBMIT_REFUSED: Not today.' }])
  })
})

describe('listDeadLetters', () => {
  it('shows the newest first, and goes on from a letter', async () => {
    const first = await givenUp()
    const second = await givenUp()
    const [newest, next] = await listDeadLetters(sql, null)
    expect([newest?.id, next?.id]).toEqual([second.letterId, first.letterId])
    expect((await listDeadLetters(sql, second.letterId))[0]?.id).toBe(first.letterId)
  })
})

describe('retryDeadLetter', () => {
  it('makes a new task of the same user, which repeats the old one', async () => {
    const { taskId, letterId } = await givenUp()
    const { task, userId } = await retry(letterId)
    expect(userId).toBe('ada')
    expect(task).toMatchObject({
      status: 'pending',
      retryOf: taskId,
      placeholderId: 'p-1',
      params: { prompt: 'a fox' },
      metadata: { shelf: 3 },
    })
    expect(task.id).not.toBe(taskId)
    expect(await openLetterOf(taskId)).toBeUndefined()
    expect(await resolutionOf(letterId)).toEqual({ resolution: 'retried', retryTaskId: task.id })
    expect((await findTask(sql, 'ada', taskId))?.status).toBe('failed')
  })

  it('again, also at the same moment, finds the task of the first time', async () => {
    const { taskId, letterId } = await givenUp()
    const retried = await Promise.all([retry(letterId), retry(letterId), retry(letterId)])
    const ids = new Set([...retried, await retry(letterId)].map(({ task }) => task.id))
    expect(ids.size).toBe(1)
    expect(await sql`select from holdfast.tasks where retry_of = ${taskId}`).toHaveLength(1)
  })

  it('keeps what was asked for this one task: how long it may take, how often it is tried (F16)', async () => {
    const task = await makeTask(sql, { deadlineMs: 5_000, maxAttempts: 9 })
    await giveUp(settle, refused, letterFor(task.id))
    const { task: again } = await retry((await openLetterOf(task.id))?.id ?? '')
    expect(
      await sql`select timeout_ms as "timeoutMs", max_attempts as "maxAttempts" from holdfast.tasks where id = ${again.id}`,
    ).toEqual([{ timeoutMs: 5_000, maxAttempts: 9 }])
  })

  it('is refused for what cannot be repeated as a task, or was discarded, or is not there', async () => {
    const task = await makeTask(sql)
    await sql.begin((tx) => writeDeadLetter(tx, letterFor(task.id, { kind: 'cancel' })))
    const cancel = (await openLetterOf(task.id))?.id ?? ''
    await expect(retry(cancel)).rejects.toMatchObject({ code: 'TASK_NOT_RETRYABLE' })

    const { taskId, letterId } = await givenUp()
    await discardDeadLetter(sql, letterId)
    await expect(retry(letterId)).rejects.toMatchObject({ code: 'TASK_NOT_RETRYABLE' })
    expect(await sql`select from holdfast.tasks where retry_of = ${taskId}`).toHaveLength(0)
    expect(await resolutionOf(letterId)).toEqual({ resolution: 'discarded', retryTaskId: null })

    await expect(retry(taskId)).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })
})

describe('a dead letter of an endpoint', () => {
  async function untold(): Promise<{ taskId: string; letterId: (endpoint: string) => Promise<string> }> {
    for (const name of ['one', 'two'])
      await sql`select holdfast.register_endpoint(${name}, '{task.submitted}')`
    const { id: taskId } = await makeTask(sql)
    await sql`delete from holdfast.work where task_id = ${taskId} and kind = 'deliver'`
    await sql`update holdfast.deliveries set failed_at = now() where task_id = ${taskId}`
    for (const provider of ['one', 'two'])
      await sql.begin((tx) => writeDeadLetter(tx, letterFor(taskId, { kind: 'deliver', provider })))
    const letters = (await listDeadLetters(sql, null)).filter((letter) => letter.taskId === taskId)
    return {
      taskId,
      letterId: async (endpoint) => letters.find(({ provider }) => provider === endpoint)?.id ?? '',
    }
  }
  const waitingOf = (taskId: string) =>
    sql`select endpoint from holdfast.deliveries where task_id = ${taskId} and failed_at is null`

  it('is retried by itself, and a second time does nothing', async () => {
    const { taskId, letterId } = await untold()
    const { task } = await retry(await letterId('two'))
    expect(task.id).toBe(taskId)
    expect(await waitingOf(taskId)).toEqual([{ endpoint: 'two' }])
    // Given up anew, with a letter of its own.
    await sql`update holdfast.deliveries set failed_at = now() where task_id = ${taskId}`
    await retry(await letterId('two'))
    expect(await waitingOf(taskId)).toEqual([])
    await retry(await letterId('one'))
    expect(await waitingOf(taskId)).toEqual([{ endpoint: 'one' }])
  })

  it('goes with its endpoint', async () => {
    const { taskId, letterId } = await untold()
    await sql`select holdfast.forget_endpoint('one')`
    await expect(retry(await letterId('one'))).rejects.toMatchObject({ code: 'TASK_NOT_RETRYABLE' })
    await sql`delete from holdfast.webhook_endpoints where id = 'two'`
    await expect(retry(await letterId('two'))).rejects.toMatchObject({
      code: 'TASK_NOT_RETRYABLE',
      message: expect.stringContaining('"two"'),
    })
    expect(await resolutionOf(await letterId('two'))).toEqual({ resolution: null, retryTaskId: null })
    expect(await waitingOf(taskId)).toEqual([])
  })
})

describe('discardDeadLetter', () => {
  it('takes it off the list, and again is no error', async () => {
    const { taskId, letterId } = await givenUp()
    await discardDeadLetter(sql, letterId)
    await discardDeadLetter(sql, letterId)
    expect(await openLetterOf(taskId)).toBeUndefined()
    expect((await findTask(sql, 'ada', taskId))?.status).toBe('failed')
    await expect(discardDeadLetter(sql, taskId)).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })
})
