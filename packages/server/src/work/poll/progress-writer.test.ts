import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { connectCounted } from '../../../test/counted-connection.ts'
import { makeRunningTask } from '../../../test/make-task.ts'
import { createMemoryLog } from '../../../test/memory-log.ts'
import { settleTask } from '../../../test/settle-task.ts'
import { createTestDatabase, type TestDatabase } from '../../../test/test-database.ts'
import type { Bus } from '../../bus/bus.ts'
import { createMemoryBus } from '../../bus/memory-bus.ts'
import type { Sql } from '../../database/connect.ts'
import { createMemoryHot } from '../../hot/memory-hot.ts'
import { createProgressWriter } from './progress-writer.ts'

let database: TestDatabase
let sql: Sql
let statements: string[]
beforeAll(async () => {
  database = await createTestDatabase()
  ;({ sql, statements } = connectCounted(database.url))
})
afterAll(async () => {
  await sql.end()
  await database.drop()
})

const until = (check: () => unknown) => vi.waitFor(check, { timeout: 10_000, interval: 10 })

function start(options: { writeEveryMs?: number; sql?: Sql; bus?: Bus } = {}) {
  const hot = createMemoryHot()
  const bus = options.bus ?? createMemoryBus()
  const { log, lines } = createMemoryLog()
  let time = 1_000_000
  const writer = createProgressWriter({ sql, hot, bus, log, now: () => time, ...options })
  const report = (taskId: string, progress: number, ageMs = 60_000, expectedMs: number | null = null) =>
    writer.report({
      taskId,
      userId: 'ada',
      progress,
      queuePosition: null,
      writtenPosition: null,
      ageMs,
      expectedMs: () => expectedMs,
    })
  return {
    writer,
    hot,
    bus,
    lines,
    report,
    pass: (ms: number) => {
      time += ms
    },
  }
}

/** Until another task's progress has been written: all that was due with it has been, too. */
async function untilLooked(report: (taskId: string, progress: number) => void): Promise<void> {
  const { id } = await makeRunningTask(sql)
  report(id, 1)
  await until(async () => expect((await rowOf(id))?.progress).toBe(1))
}

const rowOf = async (id: string) => {
  const [row] = await sql<{ progress: number | null; version: number; expectedMs: number }[]>`
    select progress, version, (extract(epoch from estimated_at - started_at) * 1000)::int as "expectedMs"
    from holdfast.tasks where id = ${id}
  `
  return row
}

describe('writing progress', () => {
  it('is hot at once, and a hint follows', async () => {
    const { id } = await makeRunningTask(sql)
    const { hot, bus, report, writer } = start()
    const hints: string[] = []
    bus.subscribe('ada', (hint) => hints.push(hint))
    report(id, 41.9)
    await until(() => expect(hints).toEqual(['progressed']))
    expect(await hot.read('ada')).toEqual(new Map([[id, 41]]))
    await writer.flush()
  })

  it('goes to the database when five seconds have passed since the row was written, and many in one statement', async () => {
    const ids: string[] = []
    for (let n = 0; n < 5; n += 1) ids.push((await makeRunningTask(sql)).id)
    const { report, pass } = start()
    for (const id of ids) report(id, 10)
    statements.length = 0
    await until(async () => expect((await rowOf(ids[4] ?? ''))?.progress).toBe(10))
    expect(statements.filter((text) => text.includes('update'))).toHaveLength(1)

    for (const progress of [20, 30]) {
      for (const id of ids) report(id, progress)
      pass(1_000)
    }
    await untilLooked(report)
    expect(await rowOf(ids[0] ?? '')).toMatchObject({ progress: 10 })
    pass(3_001)
    await until(async () => expect(await rowOf(ids[0] ?? '')).toMatchObject({ progress: 30, version: 4 }))
  })

  it('of a task that was just accepted waits: its acceptance was a write', async () => {
    const { id } = await makeRunningTask(sql)
    const { report, pass, writer } = start()
    report(id, 5, 2_000)
    await untilLooked(report)
    expect(await rowOf(id)).toMatchObject({ progress: null })
    pass(3_001)
    await until(async () => expect(await rowOf(id)).toMatchObject({ progress: 5 }))
    await writer.flush()
  })

  it('only rises, stays under 100, and comes with a new estimate where there is one', async () => {
    const { id } = await makeRunningTask(sql)
    const { report, writer, hot } = start()
    for (const progress of [30, 20, -5, 120, 99.9]) report(id, progress, 60_000, 90_000)
    await writer.flush()
    expect(await hot.read('ada')).toEqual(new Map([[id, 99]]))
    expect(await rowOf(id)).toMatchObject({ progress: 99, expectedMs: 90_000 })
    const other = await makeRunningTask(sql)
    report(other.id, 30)
    await writer.flush()
    expect(await rowOf(other.id)).toMatchObject({ progress: 30, expectedMs: 10_000 })
  })

  it('is handed over at the end, and does not touch what has ended', async () => {
    const { id } = await makeRunningTask(sql)
    const { report, writer } = start()
    report(id, 66)
    expect(writer.take(id)).toBe(66)
    expect(writer.take(id)).toBeNull()
    await settleTask(sql, id, { status: 'cancelled' })
    report(id, 77)
    await writer.flush()
    expect(await rowOf(id)).toMatchObject({ progress: null })
  })

  it('does not wait for a row that somebody holds', async () => {
    const [held, free] = [await makeRunningTask(sql), await makeRunningTask(sql)]
    const { report, writer } = start()
    await sql.begin(async (tx) => {
      await tx`select from holdfast.tasks where id = ${held.id} for update`
      report(held.id, 10)
      report(free.id, 10)
      await writer.flush()
    })
    expect(await rowOf(held.id)).toMatchObject({ progress: null })
    expect(await rowOf(free.id)).toMatchObject({ progress: 10 })
  })

  it('with the database away it is shown all the same, and written when it is back, with one line in the log', async () => {
    const { id } = await makeRunningTask(sql)
    let isAway = true
    let refused = 0
    const flaky = new Proxy(sql, {
      apply(target, self, args) {
        const told = Array.isArray(args[0]) && args[0].join('').includes('with reported')
        if (!isAway || !told) return Reflect.apply(target, self, args)
        refused += 1
        return Promise.reject(new Error('away'))
      },
    })
    const { report, pass, hot, lines } = start({ sql: flaky })
    report(id, 10)
    await until(() => expect(lines.filter((line) => line.includes('could not be written'))).toHaveLength(1))
    pass(5_001)
    report(id, 20)
    await until(async () => expect((await hot.read('ada')).get(id)).toBe(20))
    await until(() => expect(refused).toBeGreaterThan(1))
    isAway = false
    pass(5_001)
    await until(async () => expect(await rowOf(id)).toMatchObject({ progress: 20 }))
    expect(lines.filter((line) => line.includes('could not be written'))).toHaveLength(1)
    expect(lines.filter((line) => line.includes('is written again'))).toHaveLength(1)
  })

  it('tells other replicas when it is in the database, if they cannot see what is hot here', async () => {
    const { id } = await makeRunningTask(sql)
    const bus = createMemoryBus()
    const told: unknown[][] = []
    bus.subscribe('ada', () => {})
    const { report, writer } = start({ bus: { ...bus, publish: (...hint) => void told.push(hint) } })
    report(id, 10)
    await writer.flush()
    expect(told).toEqual([
      ['ada', 'progressed', 'here'],
      ['ada', 'changed', 'elsewhere'],
    ])
  })
})

describe('the place in a provider’s queue', () => {
  const positionOf = async (id: string) => {
    const [row] = await sql<{ queuePosition: number | null; progress: number | null; version: number }[]>`
      select queue_position as "queuePosition", progress, version from holdfast.tasks where id = ${id}
    `
    return row
  }
  /** As a poll does that was claimed when the row said `written`. */
  function startQueue(options: Parameters<typeof start>[0] = {}) {
    const { writer, ...rest } = start(options)
    const tell = (
      taskId: string,
      queuePosition: number | null,
      writtenPosition: number | null,
      progress?: number,
    ) =>
      writer.report({
        taskId,
        userId: 'ada',
        progress: progress ?? null,
        queuePosition,
        writtenPosition,
        ageMs: 60_000,
        expectedMs: () => null,
      })
    return { writer, tell, ...rest }
  }

  it('is written down with a new version, up as well as down, and those who watch are told to look', async () => {
    const { id } = await makeRunningTask(sql)
    const { tell, writer, bus, hot } = startQueue()
    const hints: string[] = []
    bus.subscribe('ada', (hint) => hints.push(hint))
    let written: number | null = null
    for (const position of [3, 7, 0, null]) {
      const before = (await positionOf(id))?.version ?? 0
      tell(id, position, written)
      await writer.flush()
      expect(await positionOf(id)).toEqual({ queuePosition: position, progress: null, version: before + 1 })
      written = position
    }
    expect(hints).toEqual(['changed', 'changed', 'changed', 'changed'])
    expect(await hot.read('ada')).toEqual(new Map())
  })

  it('that has not changed costs nothing', async () => {
    const { id } = await makeRunningTask(sql)
    const { tell, writer } = startQueue()
    tell(id, 3, null)
    await writer.flush()
    statements.length = 0
    tell(id, 3, 3)
    expect(writer.isWaiting(id)).toBe(false)
    await writer.flush()
    expect(statements).toEqual([])
  })

  it('is written no more often than progress, and what was overtaken meanwhile is never shown', async () => {
    const { id } = await makeRunningTask(sql)
    const { tell, writer, pass } = startQueue()
    tell(id, 3, null)
    await until(async () => expect((await positionOf(id))?.queuePosition).toBe(3))
    const { version } = (await positionOf(id)) ?? {}
    tell(id, 2, 3)
    expect(writer.isWaiting(id)).toBe(true)
    // It is back where the row has it, so that there is nothing to write.
    tell(id, 3, 3)
    pass(5_001)
    await until(() => expect(writer.isWaiting(id)).toBe(false))
    await writer.flush()
    expect(await positionOf(id)).toMatchObject({ queuePosition: 3, version })
    tell(id, null, 3, 12)
    await writer.flush()
    expect(await positionOf(id)).toMatchObject({ queuePosition: null, progress: 12 })
  })

  it('that could not be written because the row was held is written with the next report', async () => {
    const { id } = await makeRunningTask(sql)
    const { tell, writer } = startQueue()
    await sql.begin(async (tx) => {
      await tx`select from holdfast.tasks where id = ${id} for update`
      tell(id, 4, null)
      await writer.flush()
    })
    expect(await positionOf(id)).toMatchObject({ queuePosition: null })
    tell(id, 4, null)
    await writer.flush()
    expect(await positionOf(id)).toMatchObject({ queuePosition: 4 })
  })

  it('is gone when the task has ended, and a late report does not bring it back', async () => {
    const { id } = await makeRunningTask(sql)
    const { tell, writer } = startQueue()
    tell(id, 2, null, 10)
    await writer.flush()
    await settleTask(sql, id, { status: 'cancelled', by: 'provider' })
    tell(id, 1, 2)
    await writer.flush()
    expect(await positionOf(id)).toMatchObject({ queuePosition: null, progress: 10 })
  })
})
