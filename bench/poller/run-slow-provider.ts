import { until } from '../crash/until.ts'
import { createFindings, type Finding } from './finding.ts'
import type { PollerLab } from './poller-lab.ts'
import { readTasks } from './read-tasks.ts'
import { seedTasks } from './seed-tasks.ts'
import { watchTasks } from './watch-tasks.ts'

const USER = 'slow'
const ANSWER_MS = 1_200
const POLL_MS = 300

/** A provider whose every answer takes four times the poll interval: its tasks are settled all the same. */
export async function runSlowProvider(lab: PollerLab, { tasks }: { tasks: number }): Promise<Finding[]> {
  const found = createFindings('slow provider')
  const stage = await lab.openStage({
    lock: 'none',
    watchedPollMs: POLL_MS,
    limits: { query: { perSecond: 1_000, inFlight: tasks * 2 }, callTimeoutMs: 5_000 },
  })
  const { sql, kie, replicas } = stage
  const unwatch = replicas.map(({ url }) => watchTasks(url, USER))
  try {
    kie.delayMs = ANSWER_MS
    kie.isFinished = (_, nth) => nth >= 3
    await seedTasks(sql, { userId: USER, name: 'slow', count: tasks, as: 'running' })
    await until('all settled', async () => (await readTasks(sql)).active === 0, { withinMs: 30_000 })
    const end = await readTasks(sql)
    found.equal('tasks completed', end.completed, tasks)
    found.equal('tasks ended twice', end.endedTwice, 0)
    const asked = kie.arrivals.length / tasks
    // Three are needed; a fourth may have begun before the third was answered.
    found.atMost('polls of each', asked, 4)
    return found.all
  } finally {
    for (const stop of unwatch) await stop()
    await stage.close()
  }
}
