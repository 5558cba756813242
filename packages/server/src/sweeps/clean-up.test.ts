import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type MakeTaskOptions, makeRunningTask } from '../../test/make-task.ts'
import { moveClock } from '../../test/move-clock.ts'
import { untold } from '../../test/record-notices.ts'
import { settleTask } from '../../test/settle-task.ts'
import { type SupabaseStorageDouble, startSupabaseStorageDouble } from '../../test/supabase-storage-double.ts'
import { createSweepContext } from '../../test/sweep-context.ts'
import { createTestDatabase, type TestDatabase } from '../../test/test-database.ts'
import type { Sql } from '../database/connect.ts'
import { createFilesystemStore } from '../objects/filesystem-store.ts'
import type { ObjectStore } from '../objects/object-store.ts'
import { createSupabaseStore } from '../objects/supabase-store.ts'
import { createConversation } from '../plugins/conversations/conversations.ts'
import { runSweeps } from './run-sweeps.ts'
import { sweepExpiredFiles } from './sweep-expired-files.ts'
import { sweepOldRows } from './sweep-old-rows.ts'

const HOUR = 60 * 60_000
const DAY = 24 * HOUR

let database: TestDatabase
let sql: Sql
let directory: string
let objects: ObjectStore
beforeAll(async () => {
  database = await createTestDatabase()
  sql = database.sql
  directory = await mkdtemp(join(tmpdir(), 'holdfast-clean-up-'))
  objects = createFilesystemStore({ directory, baseUrl: 'http://files.test', secret: 'a secret for tests' })
})
afterAll(async () => {
  await objects.close()
  await rm(directory, { recursive: true, force: true })
  await database.drop()
})
beforeEach(async () => {
  await sql`delete from holdfast.tasks`
  await sql`truncate holdfast.removed_tasks_by_day, holdfast.artifacts`
})

const context = () => ({ ...createSweepContext(sql), objects })

async function* bytes(): AsyncGenerator<Uint8Array> {
  yield new TextEncoder().encode('a picture')
}

/** A completed task whose one file has been copied to the store. */
async function storedTask(
  options: MakeTaskOptions & { keepMs?: number } = {},
): Promise<{ id: string; key: string }> {
  const { keepMs = 3 * DAY, ...task } = options
  const { id } = await makeRunningTask(sql, task)
  await sql`update holdfast.tasks set keep_ms = ${keepMs} where id = ${id}`
  const output = { url: 'https://vendor.test/1.png', contentType: 'image/png', urlLifetimeMs: HOUR }
  await settleTask(sql, id, { status: 'completed', outputs: [output] })
  const key = `results/${id}/0.png`
  await objects.put(key, bytes(), { contentType: 'image/png' })
  await sql`
    update holdfast.artifacts set state = 'stored', object_key = ${key}, bytes = 9, sha256 = ${'a'.repeat(64)} where task_id = ${id}
  `
  await sql`delete from holdfast.work where task_id = ${id}`
  return { id, key }
}

const stateOf = async (taskId: string) =>
  (await sql<{ state: string }[]>`select state from holdfast.artifacts where task_id = ${taskId}`)[0]?.state
const exists = async (taskId: string) =>
  (await sql`select from holdfast.tasks where id = ${taskId}`).length === 1

describe('files whose time is over (O5)', () => {
  it('are deleted and then marked, by the plan each was made under', async () => {
    const free = await storedTask()
    const paid = await storedTask({ keepMs: 30 * DAY })
    await moveClock(sql, 3 * DAY - HOUR)
    expect(await sweepExpiredFiles(context())).toBe(0)

    await moveClock(sql, 2 * HOUR)
    const swept = context()
    expect(await sweepExpiredFiles(swept)).toBe(1)
    expect(await objects.head(free.key)).toBeNull()
    expect(await stateOf(free.id)).toBe('deleted')
    expect(await objects.head(paid.key)).not.toBeNull()
    expect(await stateOf(paid.id)).toBe('stored')
    expect(swept.published).toEqual(['ada'])

    await moveClock(sql, 27 * DAY)
    expect(await sweepExpiredFiles(context())).toBe(1)
    expect(await objects.head(paid.key)).toBeNull()
  })

  it('reach open tabs: the version of the task rises', async () => {
    const { id } = await storedTask()
    const version = async () => (await sql`select version from holdfast.tasks where id = ${id}`)[0]?.version
    const before = await version()
    await moveClock(sql, 4 * DAY)
    await sweepExpiredFiles(context())
    expect(await version()).toBe(before + 1)
  })

  it('are not marked while they cannot be deleted, and are taken up again', async () => {
    const { id, key } = await storedTask()
    await moveClock(sql, 4 * DAY)
    const broken: ObjectStore = { ...objects, delete: () => Promise.reject(new Error('away')) }
    await expect(sweepExpiredFiles({ ...context(), objects: broken })).rejects.toThrow('away')
    expect(await stateOf(id)).toBe('stored')
    expect(await sweepExpiredFiles({ ...context(), objects: undefined })).toBe(0)
    expect(await stateOf(id)).toBe('stored')

    await sweepExpiredFiles(context())
    expect(await stateOf(id)).toBe('deleted')
    expect(await objects.head(key)).toBeNull()
  })

  it.each([
    ['the anon key', (service: SupabaseStorageDouble) => service.anonKey],
    ['another key', () => 'another-key'],
  ])('are not marked as deleted at Supabase with %s', async (_, keyOf) => {
    const service = await startSupabaseStorageDouble()
    try {
      const { url, bucket, serviceKey } = service
      const right = createSupabaseStore({ url, bucket, serviceKey })
      const wrong = createSupabaseStore({ url, bucket, serviceKey: keyOf(service) })
      const { id, key } = await storedTask()
      await right.put(key, bytes(), { contentType: 'image/png' })
      await moveClock(sql, 4 * DAY)
      const swept = sweepExpiredFiles({ ...context(), objects: wrong })
      await expect(swept).rejects.toThrow('SUPABASE_SERVICE_KEY')
      expect(await stateOf(id)).toBe('stored')

      service.setBucket(null)
      await expect(sweepExpiredFiles({ ...context(), objects: right })).rejects.toThrow('no bucket')
      expect(await stateOf(id)).toBe('stored')
      service.setBucket({})
      expect(await right.head(key)).not.toBeNull()
      await sweepExpiredFiles({ ...context(), objects: right })
      expect(await stateOf(id)).toBe('deleted')
      expect(await right.head(key)).toBeNull()
    } finally {
      await service.close()
    }
  })

  it('that were deleted by a sweep which then died are marked by the next one', async () => {
    const { id, key } = await storedTask()
    await moveClock(sql, 4 * DAY)
    await objects.delete([key])
    expect(await sweepExpiredFiles(context())).toBe(1)
    expect(await stateOf(id)).toBe('deleted')
  })

  it('that were never copied are expired, and nobody tries to copy them any more', async () => {
    const { id } = await makeRunningTask(sql)
    const output = { url: 'https://vendor.test/1.png', contentType: 'image/png', urlLifetimeMs: null }
    await settleTask(sql, id, { status: 'completed', outputs: [output] })
    await sql`insert into holdfast.work (task_id, kind, provider) values (${id}, 'copy', 'nobody') on conflict do nothing`
    await moveClock(sql, 4 * DAY)
    expect(await sweepExpiredFiles(context())).toBe(1)
    expect(await stateOf(id)).toBe('expired')
    expect(await sql`select from holdfast.work where task_id = ${id}`).toHaveLength(0)
  })

  it('that was stored while the sweep looked at it is left to the next one', async () => {
    const { id, key } = await storedTask()
    await sql`update holdfast.artifacts set state = 'remote', object_key = null where task_id = ${id}`
    await moveClock(sql, 4 * DAY)
    const slow: ObjectStore = {
      ...objects,
      delete: async () => {
        await sql`update holdfast.artifacts set state = 'stored', object_key = ${key} where task_id = ${id}`
      },
    }
    expect(await sweepExpiredFiles({ ...context(), objects: slow })).toBe(0)
    expect(await stateOf(id)).toBe('stored')
    expect(await sweepExpiredFiles(context())).toBe(1)
    expect(await objects.head(key)).toBeNull()
  })
})

describe('rows of tasks that ended long ago (O6)', () => {
  async function failedTask(): Promise<string> {
    const { id } = await makeRunningTask(sql)
    await settleTask(sql, id, {
      status: 'failed',
      failure: { code: 'PROVIDER_FAILED', message: 'no', retryable: true },
    })
    return id
  }

  it('go after 7 days, failed ones after 30', async () => {
    const done = await storedTask()
    const failed = await failedTask()
    await moveClock(sql, 6 * DAY)
    await sweepExpiredFiles(context())
    expect(await sweepOldRows(context())).toBe(0)

    await moveClock(sql, 2 * DAY)
    expect(await sweepOldRows(context())).toBe(1)
    expect(await exists(done.id)).toBe(false)
    expect(await exists(failed)).toBe(true)

    await moveClock(sql, 23 * DAY)
    expect(await sweepOldRows(context())).toBe(1)
    expect(await exists(failed)).toBe(false)
    expect(await sql`select from holdfast.artifacts`).toHaveLength(0)
  })

  it('never before their files', async () => {
    const paid = await storedTask({ keepMs: 30 * DAY })
    await moveClock(sql, 29 * DAY)
    await sweepExpiredFiles(context())
    expect(await sweepOldRows(context())).toBe(0)
    await moveClock(sql, 2 * DAY)
    expect(await sweepOldRows(context())).toBe(0)
    await sweepExpiredFiles(context())
    expect(await sweepOldRows(context())).toBe(1)
    expect(await exists(paid.id)).toBe(false)
  })

  it('leave the message, and the file it shows until its own time', async () => {
    const { conversation } = await createConversation(untold(sql), 'ada', { title: 'Foxes' })
    const { id } = await storedTask({ conversationId: conversation.id })
    await moveClock(sql, 8 * DAY)
    await sweepExpiredFiles(context())
    await sweepOldRows(context())
    expect(await exists(id)).toBe(false)
    const messages = await sql`
      select a.state from holdfast.messages m join holdfast.artifacts a on a.message_id = m.id where m.task_id = ${id}
    `
    expect(messages).toMatchObject([{ state: 'deleted' }])
  })

  it('are added to the statistics, which say the same before and after', async () => {
    await storedTask()
    await storedTask()
    await failedTask()
    await makeRunningTask(sql)
    const statistics = () => sql`select * from holdfast.tasks_by_day order by status`
    await moveClock(sql, 40 * DAY)
    const before = await statistics()
    expect(before).toMatchObject([
      { status: 'completed', tasks: '2', started: '2' },
      { status: 'failed', failure_code: 'PROVIDER_FAILED', tasks: '1' },
    ])
    await sweepExpiredFiles(context())
    expect(await sweepOldRows(context())).toBe(3)
    expect([...(await statistics())]).toEqual([...before])
  })

  it('stay while somebody may need them: an open dead letter, a cancel on its way', async () => {
    const id = await failedTask()
    await sql`
      insert into holdfast.dead_letters (task_id, user_id, kind, provider, lane, attempts, reason)
      values (${id}, 'ada', 'send', 'nobody', 'free_default', 3, 'spent')
    `
    const cancelled = (await makeRunningTask(sql)).id
    await settleTask(sql, cancelled, { status: 'cancelled' })
    await sql`insert into holdfast.work (task_id, kind, provider) values (${cancelled}, 'cancel', 'nobody')`
    await moveClock(sql, 40 * DAY)
    expect(await sweepOldRows(context())).toBe(0)
    await sql`delete from holdfast.work`
    await sql`update holdfast.dead_letters set resolved_at = now(), resolution = 'discarded'`
    expect(await sweepOldRows(context())).toBe(2)
  })

  it('an active task is never removed', async () => {
    const { id } = await makeRunningTask(sql)
    await moveClock(sql, 400 * DAY)
    expect(await sweepOldRows(context())).toBe(0)
    expect(await exists(id)).toBe(true)
  })
})

it('both are among the sweeps that the engine runs', async () => {
  const { id } = await storedTask()
  await moveClock(sql, 8 * DAY)
  const stop = new AbortController()
  const swept: string[] = []
  const metrics = {
    swept: (name: string, count: number) => {
      if (count > 0) swept.push(name)
      if (name === 'old-rows') stop.abort()
    },
  }
  await runSweeps({ ...context(), metrics: metrics as never, everyMs: 1, until: stop.signal })
  expect(swept).toEqual(['expired-files', 'old-rows'])
  expect(await exists(id)).toBe(false)
})
