import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '../crash/until.ts'
import { createFindings, type Finding } from '../poller/finding.ts'
import { readTasks } from '../poller/read-tasks.ts'
import { seedTasks } from '../poller/seed-tasks.ts'
import { percentile } from '../stream/percentile.ts'
import { type ClientReport, WAYS } from './client-messages.ts'
import type { BusKind, ReplicasLab, Stage } from './replicas-lab.ts'

export interface Size {
  users: number
  streamsPerUser: number
  /** Tasks of each user that end before anything is measured, before a replica is killed, and around that moment. */
  warmUp: number
  before: number
  around: number
  /** How many tasks end in a second. */
  perSecond: number
  /** How long a finish may take to a stream at another replica, and a client of a killed one to be back. */
  heardWithinMs: number
  backWithinMs: number
}

export const FULL: Size = {
  users: 100,
  streamsPerUser: 3,
  warmUp: 2,
  before: 10,
  around: 6,
  perSecond: 30,
  heardWithinMs: 100,
  backWithinMs: 2_000,
}
export const SHORT: Size = { ...FULL, users: 20, warmUp: 1, before: 4, around: 4, perSecond: 30 }

export interface Figures {
  p50Ms: number
  p99Ms: number
  backMs: number
  missed: number
}

/** What a stream heard of a finish at another replica. */
interface Hearing {
  way: ClientReport['way']
  /** From the commit to its arrival. */
  ms: number
  /** From the commit to when the replica that made it knew: the disk's part, which no bus can help. */
  committingMs: number
}

/** Until the first of some tasks is due: they are all written by then, even on a busy machine. */
const AHEAD_MS = 2_000
const AHEAD_PER_USER_MS = 40

/**
 * Finishes at all replicas reach the streams at the others; then one replica is killed while finishes go on, and its
 * clients come back elsewhere by the client's own rules.
 */
export async function runOverBus(
  lab: ReplicasLab,
  bus: BusKind,
  size: Size,
): Promise<{ found: Finding[]; figures: Figures }> {
  const found = createFindings(bus)
  const users = Array.from({ length: size.users }, (_, n) => `user${n}`)
  const stage = await lab.openStage(bus, { users, streamsPerUser: size.streamsPerUser })
  const { sql, replicas, clients } = stage
  const report = async () => (await clients.ask({ kind: 'report' }, 'report')).clients
  const allHave = (each: number) => async () =>
    (await clients.ask({ kind: 'least' }, 'least')).completed >= each
  const seeded = (name: string, each: number) => seed(stage, users, { name, each, perSecond: size.perSecond })
  const finish = async (name: string, each: number, total: number) => {
    const lastsMs = await seeded(name, each)
    await until('every client to have every finish', allHave(total), {
      withinMs: lastsMs + 30_000,
      everyMs: 200,
    })
  }
  try {
    const streams = users.length * size.streamsPerUser
    const most = Math.max(...replicas.map(({ browsers }) => browsers.size))
    found.equal('streams open', (await report()).length, streams)
    const overH2 = (await report()).filter(({ spokeH2 }) => spokeH2).length
    found.equal('of them over HTTP/2', overH2, streams / WAYS.length)
    found.atMost('most of them at one replica', most, streams * 0.5)

    // Processes that have just begun are slow for reasons of their own.
    await finish('warm', size.warmUp, size.warmUp)
    await finish('before', size.before, size.warmUp + size.before)
    const hearings = await readHearings(stage, await report(), 'before')
    const times = hearings.map(({ ms }) => ms)
    const figures = {
      p50Ms: tenths(percentile(times, 0.5)),
      p99Ms: tenths(percentile(times, 0.99)),
      backMs: Number.NaN,
      missed: Number.NaN,
    }
    found.atLeast('finishes heard at other replicas', hearings.length, users.length * size.before)
    found.atMost('ms from the commit to the stream, p50', figures.p50Ms, size.heardWithinMs)
    found.atMost('ms from the commit to the stream, p99', figures.p99Ms, size.heardWithinMs)
    const committing = hearings.map(({ committingMs }) => committingMs)
    found.atMost(
      '  of which until the commit was on disk, p99',
      percentile(committing, 0.99),
      size.heardWithinMs,
    )
    for (const way of WAYS) {
      const own = hearings.filter((hearing) => hearing.way === way).map(({ ms }) => ms)
      found.atMost(`  p99 by ${way}`, percentile(own, 0.99), size.heardWithinMs)
    }

    const lastsMs = await seeded('around', size.around)
    await sleep(lastsMs / 2)
    const victim = replicas[0]
    const lost = victim?.browsers ?? new Set()
    const killedAt = Date.now()
    await victim?.kill()
    const backAt = (client: ClientReport) => client.beganAt.find((at) => at >= killedAt)
    const ofVictim = async () => (await report()).filter(({ browser }) => lost.has(browser))
    await until('the clients of the killed one to be back', async () => (await ofVictim()).every(backAt), {
      withinMs: 30_000,
      everyMs: 200,
    })
    const waits = (await ofVictim()).map((client) => (backAt(client) ?? Number.NaN) - killedAt)
    figures.backMs = Math.max(...waits)
    found.atLeast('clients of the killed replica', waits.length, streams * 0.15)
    found.atMost('ms until they were back, p50', percentile(waits, 0.5), size.backWithinMs)
    found.atMost('ms until the last was back', figures.backMs, size.backWithinMs)

    const all = size.warmUp + size.before + size.around
    // What the dead one had claimed comes due again; nobody clears up behind it.
    await until('every task to end', async () => (await readTasks(sql)).active === 0, {
      withinMs: 120_000,
      everyMs: 200,
    })
    // The sweep of a stream looks every 5 s: two of them, and nothing can be on its way any more.
    await until('every client to have every finish', allHave(all), { withinMs: 15_000, everyMs: 200 }).catch(
      () => {},
    )
    const end = await report()
    figures.missed = end.reduce((sum, { completed }) => sum + Math.abs(all - completed), 0)
    const ledger = await readTasks(sql)
    found.equal('tasks completed', ledger.completed, users.length * all)
    found.equal('tasks ended twice', ledger.endedTwice, 0)
    found.equal('finishes that a client missed', figures.missed, 0)
    found.equal(
      'states that went back',
      end.reduce((sum, { wentBack }) => sum + wentBack, 0),
      0,
    )
    found.equal('clients on push', end.filter(({ connection }) => connection === 'push').length, streams)
    return { found: found.all, figures }
  } finally {
    await stage.close()
  }
}

/** Tasks that are to end at a steady rate, those of all users in turn; returns how long it will be until the last. */
async function seed(
  { sql }: Stage,
  users: readonly string[],
  { name, each, perSecond }: { name: string; each: number; perSecond: number },
): Promise<number> {
  const gapMs = 1_000 / perSecond
  const from = Date.now() + AHEAD_MS + users.length * AHEAD_PER_USER_MS
  for (const [n, userId] of users.entries()) {
    await seedTasks(sql, {
      userId,
      name: `${name}${userId}`,
      count: each,
      as: 'running',
      dueInMs: from + n * gapMs - Date.now(),
      everyMs: users.length * gapMs,
    })
  }
  return from + users.length * each * gapMs - Date.now()
}

/** By the database's own note of each commit and the log of who made it; the machine has one clock. */
async function readHearings(
  stage: Stage,
  clients: readonly ClientReport[],
  name: string,
): Promise<Hearing[]> {
  const commits = await stage.sql<{ taskId: string; at: number }[]>`
    select task_id as "taskId", (extract(epoch from pg_xact_commit_timestamp(xid::xid)) * 1000)::float8 as at
    from task_history join holdfast.tasks t on t.id = task_id
    where was = 'running' and task_history.status = 'completed' and t.params->>'prompt' like ${`${name}%`}
  `
  const committedAt = new Map(commits.map(({ taskId, at }) => [taskId, at]))
  return clients.flatMap(({ browser, way, completedAt }) => {
    const home = stage.replicas.find(({ browsers }) => browsers.has(browser))
    return Object.entries(completedAt)
      .filter(([taskId]) => committedAt.has(taskId) && home && !home.settled.has(taskId))
      .map(([taskId, at]) => {
        const committed = committedAt.get(taskId) ?? Number.NaN
        const knew = stage.replicas.find(({ settled }) => settled.has(taskId))?.settled.get(taskId)
        return { way, ms: at - committed, committingMs: (knew ?? Number.NaN) - committed }
      })
  })
}

function tenths(value: number): number {
  return Math.round(value * 10) / 10
}
