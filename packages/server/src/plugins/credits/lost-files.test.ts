import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Task } from '@holdfast/shared'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { findCreditViolations } from '../../../test/credit-rules.ts'
import { untold } from '../../../test/record-notices.ts'
import { createScriptedProvider } from '../../../test/scripted-provider.ts'
import { scriptedTypes } from '../../../test/scripted-types.ts'
import { type SourceServer, startSourceServer } from '../../../test/source-server.ts'
import { createSweepContext } from '../../../test/sweep-context.ts'
import { problem, startTestHoldfast, type TestHoldfast } from '../../../test/test-holdfast.ts'
import { createFilesystemStore } from '../../objects/filesystem-store.ts'
import { sweepExpiredFiles } from '../../sweeps/sweep-expired-files.ts'
import { giveBack } from './give-back.ts'

let folder: string
let server: TestHoldfast
let source: SourceServer
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-lost-'))
  source = await startSourceServer()
  source.offer('there')
})
afterEach(async () => {
  expect(await findCreditViolations(server.sql)).toEqual([])
  await server.stop()
  await source.close()
  await rm(folder, { recursive: true, force: true })
})

/** A completed task with these files, whose links have died by now. */
async function completed(paths: string[], mirror: { maxBytes?: number } = {}): Promise<string> {
  const provider = createScriptedProvider({
    query: () => ({
      kind: 'succeeded',
      outputs: paths.map((path) => ({
        url: `${source.url}/${path}`,
        contentType: 'image/png',
        urlLifetimeMs: 1,
      })),
    }),
  })
  server = await startTestHoldfast({
    engineRuns: true,
    providers: [provider],
    types: scriptedTypes(provider.name, { credits: 4 }),
    credits: { initial: 10 },
    objects: createFilesystemStore({
      directory: folder,
      baseUrl: 'http://127.0.0.1',
      secret: 'a secret for these tests',
    }),
    mirror: { allowLoopback: true, ...mirror },
  })
  const { body } = await server.as('ada')<{ task: Task }>('POST', '/v1/tasks', {
    json: { type: 'image', params: { prompt: 'a fox' } },
  })
  await until(async () => expect((await find(body.task.id)).status).toBe('completed'))
  return body.task.id
}
const find = async (id: string) =>
  (await server.as('ada')<{ task: Task }>('GET', `/v1/tasks/${id}`)).body.task
const until = (check: () => Promise<void>) =>
  vi.waitFor(
    async () => {
      await server.sql`update holdfast.work set due_at = now() where due_at > now() + interval '1 s'`
      await check()
    },
    { timeout: 15_000, interval: 20 },
  )
const statesOf = async (id: string) => (await find(id)).result?.outputs.map(({ state }) => state)
const retry = (id: string) => server.as('ada')<{ task: Task }>('POST', `/v1/tasks/${id}/retry`)

describe('a file that died at its source before it could be copied', () => {
  it('is given back, once for all files of its task, and the task can be retried', async () => {
    const id = await completed(['gone', 'gone-too'])
    await until(async () => expect(await statesOf(id)).toEqual(['expired', 'expired']))
    expect((await find(id)).credits).toEqual({ held: 0, spent: 0, returned: 4 })
    expect(await server.holdfast.credits.balance('ada')).toEqual({ balance: 10, held: 0 })
    expect(
      await server.sql`select amount::int, reason, actor from holdfast.credit_ledger where kind = 'adjust'`,
    ).toEqual([{ amount: 4, reason: 'a file was lost at its source', actor: 'system' }])
    // An administrator who gives it back by hand finds that it was.
    expect(await giveBack(untold(server.sql), { taskId: id, reason: 'lost', actor: 'root' })).toMatchObject({
      given: false,
    })
    expect(await retry(id)).toMatchObject({
      status: 201,
      body: { task: { retryOf: id, credits: { held: 4 } } },
    })
  })

  it('some of them: given back as well, but there is still something to show', async () => {
    const id = await completed(['there', 'gone'])
    await until(async () => expect(await statesOf(id)).toEqual(['stored', 'expired']))
    expect((await find(id)).credits).toEqual({ held: 0, spent: 0, returned: 4 })
    expect(await retry(id)).toMatchObject(problem('TASK_NOT_RETRYABLE', 409))
  })
})

describe('a file that is gone for another reason is not given back', () => {
  it('what we would not copy was there for as long as its link', async () => {
    const id = await completed(['there'], { maxBytes: 2 })
    await until(async () => expect(await statesOf(id)).toEqual(['expired']))
    expect((await find(id)).credits).toEqual({ held: 0, spent: 4, returned: 0 })
  })

  it('what was kept for as long as was promised', async () => {
    const id = await completed(['there'])
    await until(async () => expect(await statesOf(id)).toEqual(['stored']))
    await server.sql`update holdfast.artifacts set expires_at = now()`
    const store = createFilesystemStore({
      directory: folder,
      baseUrl: 'http://127.0.0.1',
      secret: 'a secret for these tests',
    })
    await sweepExpiredFiles({ ...createSweepContext(server.sql), objects: store })
    expect(await statesOf(id)).toEqual(['deleted'])
    expect((await find(id)).credits).toEqual({ held: 0, spent: 4, returned: 0 })
    expect(await retry(id)).toMatchObject(problem('TASK_NOT_RETRYABLE', 409))
    await store.close()
  })
})
