import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { SyncAnswer, Task } from '@holdfast/shared'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { type DebianPostgres, startDebianPostgres } from '../../test/debian-postgres.ts'
import { makeRunningTask } from '../../test/make-task.ts'
import { createMemoryLog } from '../../test/memory-log.ts'
import { setProgress } from '../../test/set-progress.ts'
import { settleTask } from '../../test/settle-task.ts'
import { createMemoryBus } from '../bus/memory-bus.ts'
import { connect, type Sql } from '../database/connect.ts'
import { migrate } from '../database/migrate.ts'
import { createMemoryHot } from '../hot/memory-hot.ts'
import { createFeeds } from '../streams/feeds.ts'
import { createStreamOutage } from '../streams/stream-outage.ts'
import { createPresenter } from './present-tasks.ts'
import { type KnownTasks, syncTasks } from './sync-tasks.ts'

const run = promisify(execFile)
const undo: (() => Promise<unknown>)[] = []
let old: DebianPostgres
let next: DebianPostgres
beforeAll(async () => {
  ;[old, next] = await Promise.all([startDebianPostgres(), startDebianPostgres()])
})
afterAll(async () => {
  for (const step of undo.splice(0).reverse()) await step()
  await Promise.all([old?.stop(), next?.stop()])
})

async function makeDatabase(server: DebianPostgres, name: string): Promise<string> {
  const admin = postgres(server.url, { max: 1, onnotice: () => {} })
  await admin`create database ${admin(name)}`
  await admin.end()
  return Object.assign(new URL(server.url), { pathname: name }).href
}

function open(url: string): Sql {
  const sql = connect(url)
  undo.push(() => sql.end({ timeout: 1 }))
  return sql
}

const GUIDE = fileURLToPath(new URL('../../../../docs/OPERATIONS.md', import.meta.url))

/** By the very commands of OPERATIONS.md. */
async function move(from: string, to: string): Promise<void> {
  const guide = await readFile(GUIDE, 'utf8')
  const roles = /```sql\n(create role anon .*?)```/s.exec(guide)?.[1] ?? ''
  const command = /```sh\n(pg_dump .*?)```/s.exec(guide)?.[1] ?? ''
  await open(to).unsafe(roles).simple()
  const env = { PATH: `${old.bin}:${process.env.PATH}`, OLD_URL: from, NEW_URL: to }
  await run('bash', ['-o', 'pipefail', '-c', command], { env })
}

async function counterOf(sql: Sql): Promise<number> {
  const [row] = await sql<{ xid: string }[]>`select pg_snapshot_xmax(pg_current_snapshot())::text as xid`
  return Number(row?.xid)
}

/** Lets the counter go on to `until`, as a busy server's does in some days. */
async function countTo(sql: Sql, until: number): Promise<void> {
  // Each inner block that writes takes a number of its own.
  await sql.unsafe(`
    create table burnt (n int);
    do $$ begin
      for n in ${await counterOf(sql)}..${until} loop
        begin insert into burnt values (n); exception when division_by_zero then null; end;
      end loop;
    end $$;
    drop table burnt;
  `)
  expect(await counterOf(sql)).toBeGreaterThan(until)
}

const knownOf = (tasks: readonly Task[]): KnownTasks =>
  Object.fromEntries(tasks.map(({ id, version, progress }) => [id, [version, progress] as const]))
const idsOf = ({ tasks }: { tasks: readonly Task[] }) => tasks.map(({ id }) => id).sort()

function openFeeds(sql: Sql, sweepMs = 3_600_000) {
  const bus = createMemoryBus()
  const feeds = createFeeds({
    sql,
    bus,
    present: createPresenter(null, createMemoryHot()),
    outage: createStreamOutage(createMemoryLog().log),
    sweepMs,
    perUser: 20,
  })
  undo.push(async () => feeds.close())
  return {
    bus,
    async follow(userId: string, cursor: string | null) {
      const events: Task[] = []
      const take = () => {
        for (let bytes = reader?.next(); bytes; bytes = reader?.next())
          events.push(...dataOf<{ task: Task }>(bytes).map(({ task }) => task))
      }
      let reader: Awaited<ReturnType<typeof feeds.join>> | undefined
      reader = await feeds.join({ userId, cursor, onNews: take, first: async () => {} })
      const [snapshot] = dataOf<SyncAnswer>(reader.snapshot)
      return { snapshot: snapshot ?? { tasks: [] }, events }
    },
  }
}

function dataOf<T>(bytes: Uint8Array): T[] {
  return [...new TextDecoder().decode(bytes).matchAll(/^data: (.*)$/gm)].map(([, json]) =>
    JSON.parse(json ?? ''),
  )
}

/** So that only a cursor can tell of it: a first sync brings what ended within a day. */
async function endedLongAgo(sql: Sql, id: string, interval: string): Promise<void> {
  await sql.begin(async (tx) => {
    await tx`alter table holdfast.tasks disable trigger guard_task_update`
    await tx`
      update holdfast.tasks set created_at = now() - interval '9 days', started_at = now() - interval '9 days',
        deadline_at = null, finished_at = now() - ${interval}::interval
      where id = ${id}
    `
    await tx`alter table holdfast.tasks enable trigger guard_task_update`
  })
}

describe('a database that was moved to another server by dump and restore', () => {
  let after: Sql
  /** What a browser knew when it went away. */
  let away: SyncAnswer
  let counterThen: number
  const ids = { quiet: '', ending: '', late: '', born: '' }

  beforeAll(async () => {
    const url = await makeDatabase(old, 'moved')
    const before = open(url)
    await migrate(before)
    for (const name of ['quiet', 'ending', 'late'] as const)
      ids[name] = (await makeRunningTask(before, { userId: 'ada' })).id
    // The old server has counted further than the new one will for a while.
    await countTo(before, (await counterOf(before)) + 20_000)
    await setProgress(before, ids.quiet, 30)
    away = await syncTasks(before, { userId: 'ada' })
    counterThen = await counterOf(before)

    const movedTo = await makeDatabase(next, 'moved')
    await move(url, movedTo)
    after = open(movedTo)
    // Tasks go on there.
    await settleTask(after, ids.ending, { status: 'completed', outputs: [] })
    ids.born = (await makeRunningTask(after, { userId: 'ada' })).id
    expect(await counterOf(after)).toBeLessThan(counterThen - 10_000)
  })

  it('tells whoever comes back soon what has changed', async () => {
    const changed = [ids.ending, ids.born].sort()
    const question = { userId: 'ada', cursor: away.cursor }
    expect(idsOf(await syncTasks(after, { ...question, known: knownOf(away.tasks) }))).toEqual(changed)
    expect(idsOf(await syncTasks(after, question))).toEqual(expect.arrayContaining(changed))
    const { snapshot } = await openFeeds(after).follow('ada', away.cursor)
    expect(idsOf(snapshot)).toEqual(expect.arrayContaining(changed))
  })

  it('does not tell with every answer what the old server wrote at a higher count', async () => {
    const { cursor } = await syncTasks(after, { userId: 'ada', cursor: away.cursor })
    expect(idsOf(await syncTasks(after, { userId: 'ada', cursor }))).not.toContain(ids.quiet)
    await setProgress(after, ids.quiet, 60)
    expect(idsOf(await syncTasks(after, { userId: 'ada', cursor }))).toContain(ids.quiet)
  })

  it('tells whoever comes back when the new count is past the old cursor', async () => {
    await countTo(after, counterThen + 1_000)
    const everything = [ids.quiet, ids.ending, ids.born].sort()
    const question = { userId: 'ada', cursor: away.cursor }
    expect(idsOf(await syncTasks(after, { ...question, known: knownOf(away.tasks) }))).toEqual(everything)
    expect(idsOf(await syncTasks(after, question))).toEqual(expect.arrayContaining(everything))
    const { snapshot } = await openFeeds(after).follow('ada', away.cursor)
    expect(idsOf(snapshot)).toEqual(expect.arrayContaining(everything))
  })

  it('tells of what ended days ago, and of what is gone', async () => {
    const lost = '0199d2a0-0000-7000-8000-000000000001'
    const hours = away.cursor.split('.')
    // Away for three days, of which the task ran one.
    const cursor = [...hours.slice(0, -1), Number(hours.at(-1)) - 72].join('.')
    await settleTask(after, ids.late, { status: 'cancelled' })
    await endedLongAgo(after, ids.late, '2 days')
    const answer = await syncTasks(after, { userId: 'ada', cursor, known: { [lost]: [3, 10] } })
    expect(idsOf(answer)).toContain(ids.late)
    expect(answer.gone).toEqual([lost])
    expect(idsOf((await openFeeds(after).follow('ada', cursor)).snapshot)).toContain(ids.late)
    expect(idsOf(await syncTasks(after, { userId: 'ada' }))).not.toContain(ids.late)
  })
})

describe('a server whose data was put back to an earlier state', () => {
  it('tells everything to cursors and streams of the time that is gone', async () => {
    const sql = open(await makeDatabase(old, 'put_back'))
    await migrate(sql)
    const task = await makeRunningTask(sql, { userId: 'bob' })
    const backup = `${old.data}.backup`
    await old.restart(() => run('cp', ['-a', old.data, backup]).then(() => {}))

    // What happens now is forgotten, and a cursor of now is ahead of what follows.
    await countTo(sql, (await counterOf(sql)) + 5_000)
    const { bus, follow } = openFeeds(sql, 100)
    const watching = await follow('bob', null)
    const { cursor } = await syncTasks(sql, { userId: 'bob' })
    await old.restart(async () => {
      await run('rm', ['-r', old.data])
      await run('mv', [backup, old.data])
    })

    await vi.waitFor(() => settleTask(sql, task.id, { status: 'completed', outputs: [] }), {
      timeout: 10_000,
    })
    // Found by the sweep alone.
    await vi.waitFor(() => expect(watching.events.map(({ status }) => status)).toEqual(['completed']), {
      timeout: 10_000,
    })
    await countTo(sql, (await counterOf(sql)) + 10_000)
    expect(idsOf(await syncTasks(sql, { userId: 'bob', cursor }))).toEqual([task.id])
    bus.publish('bob')
    expect(idsOf((await follow('bob', cursor)).snapshot)).toEqual([task.id])
  })
})
