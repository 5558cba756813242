import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '../crash/until.ts'
import { createFindings, type Finding } from './finding.ts'
import type { PollerLab } from './poller-lab.ts'
import { readTasks } from './read-tasks.ts'
import { seedTasks } from './seed-tasks.ts'
import { TROUBLES } from './start-provider.ts'
import { watchTasks } from './watch-tasks.ts'

const USER = 'troubles'
const TASKS = 30

/**
 * The provider fails in every way there is, one after the other, and then works again: whatever it had taken before
 * is finished. In each phase a new task is also sent; that may end as `SUBMIT_UNKNOWN`, since nobody can tell what
 * became of it, but it is never sent twice.
 */
export async function runProviderTroubles(
  lab: PollerLab,
  { phaseMs, callTimeoutMs }: { phaseMs: number; callTimeoutMs: number },
): Promise<Finding[]> {
  const found = createFindings('provider in trouble')
  const limits = { perSecond: 100, inFlight: 50 }
  const stage = await lab.openStage({
    lock: 'advisory',
    limits: { query: limits, create: limits, callTimeoutMs },
  })
  const { sql, kie, replicas } = stage
  const unwatch = replicas.map(({ url }) => watchTasks(url, USER))
  const count = async (name: string, labels: string) => {
    const counts = await Promise.all(replicas.map((one) => one.metric(name, labels)))
    return counts.reduce((sum, one) => sum + one, 0)
  }
  const failures = async () =>
    (await count('holdfast_polls_total', 'inconclusive')) +
    (await count('holdfast_submits_total', 'not-accepted')) +
    (await count('holdfast_submits_total', 'unknown'))
  const answers = () => count('holdfast_polls_total', 'running')
  try {
    let over = false
    kie.isFinished = () => over
    await seedTasks(sql, { userId: USER, name: 'taken', count: TASKS, as: 'running' })
    for (const trouble of TROUBLES) {
      const before = await failures()
      await kie.be(trouble)
      await seedTasks(sql, { userId: USER, name: trouble, count: 1, as: 'pending' })
      await until(`calls that fail (${trouble})`, async () => (await failures()) > before, {
        withinMs: 20_000,
      })
      await sleep(phaseMs)
      const answered = await answers()
      await kie.be(null)
      const workingAt = performance.now()
      await until(`answers after ${trouble}`, async () => (await answers()) > answered, { withinMs: 120_000 })
      // The pause of an open circuit doubles from 1 s to 30 s: no longer than the trouble itself, and one call.
      found.atMost(
        `s until it is asked again after ${trouble}`,
        (performance.now() - workingAt) / 1000,
        Math.min(60, (2 * phaseMs + callTimeoutMs) / 1000 + 2),
      )
    }
    over = true
    const recoveredAt = performance.now()
    // Somebody opens the page anew, and need not wait until patience with the provider is over.
    unwatch.push(watchTasks(replicas[0]?.url ?? '', USER))
    await until('all settled', async () => (await readTasks(sql)).active === 0, { withinMs: 150_000 })
    found.atMost('s until all is finished', (performance.now() - recoveredAt) / 1000, 60)

    const end = await readTasks(sql)
    found.atLeast('tasks completed', end.completed, TASKS)
    const [taken] = await sql<[{ completed: number }]>`
      select count(*)::int as completed from holdfast.tasks where status = 'completed' and params->>'prompt' like 'taken-%'
    `
    found.equal('completed of those taken before', taken.completed, TASKS)
    const [refused] = await sql`select status from holdfast.tasks where params->>'prompt' = 'refused-1'`
    found.equal('the one that nobody was there to take', refused?.status, 'completed')
    found.equal(
      'failed for another reason',
      end.failures.filter((code) => code !== 'SUBMIT_UNKNOWN').length,
      0,
    )
    found.equal('tasks ended twice', end.endedTwice, 0)
    found.equal('tasks without exactly one message', end.messagesAmiss, 0)
    const sends = Map.groupBy(
      kie.arrivals.filter(({ operation }) => operation === 'create'),
      ({ id }) => id,
    )
    // Those that were told to come back later were certainly not taken, and are.
    const twice = [...sends].filter(([id, all]) => all.length > 1 && !id.startsWith('busy'))
    found.equal('creates sent twice', twice.length, 0)
    found.equal('replicas alive', replicas.filter((one) => one.isAlive()).length, 3)
    return found.all
  } finally {
    for (const stop of unwatch) await stop()
    await stage.close()
  }
}
