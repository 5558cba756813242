import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '../crash/until.ts'
import { createFindings, type Finding } from './finding.ts'
import type { PollerLab } from './poller-lab.ts'
import { readTasks } from './read-tasks.ts'
import { seedTasks } from './seed-tasks.ts'
import { watchTasks } from './watch-tasks.ts'

const USER = 'restart'
const UNSENT = 20
const LEASE_MARGIN_MS = 1_500

/** PostgreSQL goes away in the middle of a round, stays away for a while and comes back. */
export async function runPostgresRestart(
  lab: PollerLab,
  { tasks, awayMs }: { tasks: number; awayMs: number },
): Promise<Finding[]> {
  const found = createFindings('PostgreSQL restarted')
  const stage = await lab.openStage({
    lock: 'advisory',
    limits: { query: { perSecond: 50, inFlight: 50 }, create: { perSecond: 50, inFlight: 50 } },
    // Answers are tried to be written every 2 s at the latest.
    leaseMarginMs: LEASE_MARGIN_MS,
  })
  const { kie, replicas } = stage
  const unwatch: (() => Promise<void>)[] = []
  try {
    await seedTasks(stage.sql, { userId: USER, name: 'restart', count: tasks, as: 'running' })
    await until('a third of the round', async () => kie.arrivals.length >= tasks / 3, { withinMs: 30_000 })
    // And creates that have arrived, but whose answers come when there is nowhere to write them.
    kie.hold()
    await seedTasks(stage.sql, { userId: USER, name: 'unsent', count: UNSENT, as: 'pending' })
    const creates = () => kie.arrivals.filter(({ operation }) => operation === 'create')
    await until('some creates', async () => creates().length >= UNSENT / 2, { withinMs: 10_000 })

    await lab.stopPostgres()
    kie.release()
    const answers = await Promise.all(replicas.flatMap(({ url }) => [ask(url, 'GET'), ask(url, 'POST')]))
    found.equal('callers are answered with', [...new Set(answers)].join(', '), '503, Retry-After 2')
    await sleep(awayMs)
    found.equal('replicas alive while it is away', replicas.filter((one) => one.isAlive()).length, 3)
    await lab.startPostgres()
    const backAt = Date.now()

    for (const { url } of replicas) unwatch.push(watchTasks(url, USER))
    const next = await until('polling again', async () => kie.arrivals.find(({ at }) => at > backAt), {
      withinMs: 30_000,
    })
    found.atMost('ms until polling goes on', next.at - backAt, 5_000)
    await until('all settled', async () => (await readTasks(stage.sql)).active === 0, {
      withinMs: 60_000 + tasks * 50,
    })

    const end = await readTasks(stage.sql)
    const unknown = end.failures.filter((code) => code === 'SUBMIT_UNKNOWN').length
    // A reply that arrived is held on to until it can be written, so not even a create is lost.
    found.equal('tasks completed', end.completed, tasks + UNSENT)
    found.equal('tasks failed', end.failures.length, 0)
    found.equal('replies to creates lost', unknown, 0)
    found.equal('tasks ended twice', end.endedTwice, 0)
    found.equal('tasks without exactly one message', end.messagesAmiss, 0)
    found.equal('creates sent', creates().length, UNSENT)
    found.equal('replicas alive in the end', replicas.filter((one) => one.isAlive()).length, 3)
    return found.all
  } finally {
    for (const stop of unwatch) await stop()
    await lab.startPostgres()
    await stage.close()
  }
}

async function ask(url: string, method: 'GET' | 'POST'): Promise<string> {
  const response = await fetch(`${url}/v1/tasks`, {
    method,
    headers: { authorization: `Bearer ${USER}`, 'content-type': 'application/json' },
    ...(method === 'POST' ? { body: JSON.stringify({ type: 'image', params: { prompt: 'away' } }) } : {}),
    signal: AbortSignal.timeout(15_000),
  })
  await response.arrayBuffer()
  return `${response.status}, Retry-After ${response.headers.get('retry-after')}`
}
