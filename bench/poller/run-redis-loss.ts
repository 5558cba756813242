import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { until } from '../crash/until.ts'
import { createFindings, type Finding } from './finding.ts'
import type { PollerLab } from './poller-lab.ts'
import { readTasks } from './read-tasks.ts'
import { seedTasks } from './seed-tasks.ts'
import { watchTasks } from './watch-tasks.ts'

const USER = 'redis'

/** Redis forgets everything in the middle of a round, and a little later dies and comes back empty. */
export async function runRedisLoss(
  lab: PollerLab,
  { tasks, awayMs }: { tasks: number; awayMs: number },
): Promise<Finding[]> {
  const found = createFindings('Redis flushed and restarted')
  const stage = await lab.openStage({ lock: 'redis', limits: { query: { perSecond: 50, inFlight: 50 } } })
  const { sql, kie, replicas } = stage
  const unwatch: (() => Promise<void>)[] = []
  try {
    await seedTasks(sql, { userId: USER, name: 'redis', count: tasks, as: 'running' })
    await until('a quarter of the round', async () => kie.arrivals.length >= tasks / 4, { withinMs: 30_000 })
    const redis = new Redis(lab.redis.url)
    await redis.flushall()
    redis.disconnect()

    // Whoever holds the lock goes on until its TTL is over, so half of the round is left for when Redis is back.
    await until('half of the round', async () => kie.arrivals.length >= tasks / 2, { withinMs: 30_000 })
    await lab.redis.kill()
    const response = await fetch(`${replicas[0]?.url}/v1/tasks`, {
      headers: { authorization: `Bearer ${USER}` },
    })
    await response.arrayBuffer()
    found.equal('callers are answered with', response.status, 200)
    await sleep(awayMs)
    found.equal('replicas alive while it is away', replicas.filter((one) => one.isAlive()).length, 3)
    await lab.redis.start()

    const backAt = Date.now()
    const next = await until('polling again', async () => kie.arrivals.find(({ at }) => at > backAt), {
      withinMs: 30_000,
    })
    found.atMost('ms until polling goes on', next.at - backAt, 5_000)
    for (const { url } of replicas) unwatch.push(watchTasks(url, USER))
    await until('all settled', async () => (await readTasks(sql)).active === 0, {
      withinMs: 40_000 + tasks * 100,
    })
    const end = await readTasks(sql)
    found.equal('tasks completed', end.completed, tasks)
    found.equal('tasks ended twice', end.endedTwice, 0)
    found.equal('tasks without exactly one message', end.messagesAmiss, 0)
    return found.all
  } finally {
    for (const stop of unwatch) await stop()
    await stage.close()
  }
}
