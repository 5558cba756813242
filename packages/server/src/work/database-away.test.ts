import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { type CuttableProxy, startCuttableProxy } from '../../test/cuttable-proxy.ts'
import { makeTask } from '../../test/make-task.ts'
import { createMemoryLog } from '../../test/memory-log.ts'
import { notifyOver } from '../../test/record-notices.ts'
import { createScriptedProvider } from '../../test/scripted-provider.ts'
import { scriptedTypes } from '../../test/scripted-types.ts'
import { createTestSettle } from '../../test/settle-task.ts'
import { createTestDatabase, type TestDatabase } from '../../test/test-database.ts'
import { createMemoryBus } from '../bus/memory-bus.ts'
import { connect, type Sql } from '../database/connect.ts'
import { createNoLock } from '../locks/no-lock.ts'
import { createMetrics } from '../metrics/metrics.ts'
import type { CreateOutcome } from '../providers/provider.ts'
import { findTask } from '../tasks/find-task.ts'
import { createEngine, defaultEngineOptions, type Engine } from './workers.ts'

let database: TestDatabase
let proxy: CuttableProxy
let throughProxy: Sql
let engine: Engine | undefined
beforeAll(async () => {
  database = await createTestDatabase()
  proxy = await startCuttableProxy(database.url)
  throughProxy = connect(proxy.url)
})
afterEach(() => engine?.stop())
afterAll(async () => {
  await throughProxy.end({ timeout: 1 })
  await proxy.close()
  await database.drop()
})

const until = (check: () => Promise<void> | void) => vi.waitFor(check, { timeout: 15_000, interval: 10 })

function start(create: (taskId: string) => Promise<CreateOutcome>, stopWithinMs = 10_000) {
  const provider = createScriptedProvider({ create: ({ taskId }) => create(taskId) })
  const { log, lines } = createMemoryLog()
  const bus = createMemoryBus()
  const notify = notifyOver(bus)
  engine = createEngine(
    {
      sql: throughProxy,
      notify,
      settle: createTestSettle(throughProxy, undefined, { notify }),
      lock: createNoLock(),
      metrics: createMetrics(),
      bus,
      types: scriptedTypes(provider.name),
      providers: new Map([[provider.name, provider]]),
      log,
    },
    { ...defaultEngineOptions, idleMs: 10, stopWithinMs },
  )
  engine.start()
  return { provider, lines }
}

describe('the database goes away', () => {
  it('while a create is answered: the answer is written when it is back', async () => {
    const { provider, lines } = start(async (taskId) => {
      await proxy.cut()
      return { kind: 'accepted', externalId: `external-${taskId}` }
    })
    const task = await makeTask(database.sql, { provider: provider.name })
    await until(() => expect(lines.join('')).toContain('holding on to an answer'))
    expect(await findTask(database.sql, 'ada', task.id)).toMatchObject({ status: 'pending' })
    await proxy.mend()
    await until(async () =>
      expect(await findTask(database.sql, 'ada', task.id)).toMatchObject({ status: 'running' }),
    )
    expect(provider.creates).toHaveLength(1)
    expect(
      await database.sql`select external_id from holdfast.provider_jobs where task_id = ${task.id}`,
    ).toMatchObject([{ external_id: `external-${task.id}` }])
    expect(lines.join('')).toContain(`"externalId":"external-${task.id}"`)
  })

  it('for a while: the loop lives and takes up what came meanwhile', async () => {
    const { provider, lines } = start(async (taskId) => ({
      kind: 'accepted',
      externalId: `external-${taskId}`,
    }))
    await proxy.cut()
    await until(() => expect(lines.join('')).toContain('looking for work failed'))
    const task = await makeTask(database.sql, { provider: provider.name })
    await proxy.mend()
    await until(async () =>
      expect(await findTask(database.sql, 'ada', task.id)).toMatchObject({ status: 'running' }),
    )
  })

  it('and does not come back: a stop gives up and says what was lost', async () => {
    const { provider, lines } = start(async (taskId) => {
      await proxy.cut()
      return { kind: 'accepted', externalId: `external-${taskId}` }
    }, 100)
    await makeTask(database.sql, { provider: provider.name })
    await until(() => expect(lines.join('')).toContain('holding on to an answer'))
    await engine?.stop()
    await until(() => expect(lines.join('')).toContain('a step could not be finished'))
    await proxy.mend()
  })
})
