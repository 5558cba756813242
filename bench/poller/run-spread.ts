import type { OperationLimit } from '@holdfast/server'
import { until } from '../crash/until.ts'
import { createFindings, type Finding } from './finding.ts'
import { countPerBin, mostInWindow, percentile } from './measure-rate.ts'
import { LOCK_RETRY_MS, LOCK_TTL_MS, type PollerLab } from './poller-lab.ts'
import { readTasks } from './read-tasks.ts'
import type { LockKind } from './replica-settings.ts'
import { seedTasks } from './seed-tasks.ts'
import { watchTasks } from './watch-tasks.ts'

interface SpreadOptions {
  lock: LockKind
  operation: 'query' | 'create'
  tasks: number
}

/** A twentieth of a second at once: 52.5 in the worst second, and 55 leaves room for how long a request is under way. */
const LIMIT = { perSecond: 50, burst: 2.5, inFlight: 50 } satisfies OperationLimit
const MOST_IN_A_SECOND = 55
const BIN_MS = 200
const PER_BIN = (LIMIT.perSecond * BIN_MS) / 1000
const USER = 'spread'

/** How long after the holder's death the next request may come. */
const TAKEOVER_MS: Record<LockKind, number> = {
  advisory: 1_000,
  // The TTL, and whoever waits must look: every 250 ms, give or take a half.
  redis: LOCK_TTL_MS + 1.5 * LOCK_RETRY_MS,
  // The others need not find out.
  none: 1_000,
}

/**
 * Many tasks due at once against three replicas, one of which (the holder, if there is one) is killed half-way: the
 * limit holds in every window of a second, the requests come evenly, and the work goes on.
 */
export async function runSpread(
  lab: PollerLab,
  { lock, operation, tasks }: SpreadOptions,
): Promise<Finding[]> {
  const found = createFindings(`spread: ${operation}, lock ${lock}`)
  const stage = await lab.openStage({ lock, limits: { query: LIMIT, create: LIMIT } })
  const { sql, kie, replicas } = stage
  const ofOperation = () => kie.arrivals.filter((arrival) => arrival.operation === operation)
  try {
    const holder = await until('a holder', async () => (await stage.holders())[0], { withinMs: 10_000 })
    // A create is not asked about here: polls would only be noise in the log.
    kie.isFinished = () => operation === 'query'
    await seedTasks(sql, {
      userId: USER,
      name: 'spread',
      count: tasks,
      as: operation === 'query' ? 'running' : 'pending',
    })

    await until('half of the requests', async () => ofOperation().length >= tasks / 2, {
      withinMs: tasks * 60,
    })
    const killedAt = Date.now()
    await holder.kill()
    const resumed = await until(
      'requests after the death',
      // What the dead one had sent may still be arriving.
      async () => ofOperation().find(({ at }) => at > killedAt + 20),
      { withinMs: 15_000, everyMs: 5 },
    )

    // The few that the dead one had under way come back by themselves, but later than we want to wait for.
    const answered = tasks - LIMIT.burst * 10
    await until('nearly all requests', async () => ofOperation().length >= answered, { withinMs: tasks * 60 })
    const measured = ofOperation().slice(0, answered)

    const times = measured.map(({ at }) => at)
    found.atMost('most in any second', mostInWindow(times, 1_000), MOST_IN_A_SECOND)
    const bins = [
      ...countPerBin(
        times.filter((at) => at < killedAt),
        BIN_MS,
      ),
      ...countPerBin(
        times.filter((at) => at >= resumed.at),
        BIN_MS,
      ),
    ]
    // Even, whatever the machine lets through: one that is busy with other things leaves gaps, so a fifth of the bins
    // may be emptier than half of the mean; none may be fuller than the limit and a half.
    const mean = bins.reduce((sum, count) => sum + count, 0) / bins.length
    found.atLeast(
      `in ${BIN_MS} ms, four times of five (mean ${mean.toFixed(1)})`,
      percentile(bins, 0.2),
      mean / 2,
    )
    found.atMost(`most in ${BIN_MS} ms`, Math.max(...bins), PER_BIN * 1.5)
    // A budget that cannot be used is no budget. On a quiet machine it is over 45.
    found.atLeast('requests a second', (mean * 1000) / BIN_MS, LIMIT.perSecond * 0.4)
    found.atMost('ms from the death to the next request', resumed.at - killedAt, TAKEOVER_MS[lock])

    if (operation === 'query') {
      const survivor = replicas.find((replica) => replica !== holder)
      const unwatch = watchTasks(survivor?.url ?? '', USER)
      await until('all tasks settled', async () => (await readTasks(sql)).active === 0, {
        withinMs: 30_000,
      }).finally(unwatch)
      const end = await readTasks(sql)
      found.equal('tasks completed', end.completed, tasks)
      found.equal('tasks ended twice', end.endedTwice, 0)
      found.equal('tasks without exactly one message', end.messagesAmiss, 0)
    } else {
      await until(
        'all creates decided',
        async () => (await sql`select from holdfast.work where kind = 'send' limit 1`).length === 0,
        { withinMs: 30_000 },
      )
      const perTask = Map.groupBy(ofOperation(), ({ id }) => id)
      found.equal('tasks created twice', [...perTask.values()].filter((all) => all.length > 1).length, 0)
      const { failures } = await readTasks(sql)
      // Only what the dead one had sent and heard no answer to.
      found.atMost('replies lost with the dead one', failures.length, LIMIT.burst * 10)
      found.equal('failed for another reason', failures.filter((code) => code !== 'SUBMIT_UNKNOWN').length, 0)
    }
    return found.all
  } finally {
    await stage.close()
  }
}
