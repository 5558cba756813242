import { until } from '../crash/until.ts'
import { createFindings, type Finding } from './finding.ts'
import { LOCK_RETRY_MS, LOCK_TTL_MS, type PollerLab } from './poller-lab.ts'
import { readTasks } from './read-tasks.ts'
import type { LockKind } from './replica-settings.ts'
import { seedTasks } from './seed-tasks.ts'
import { watchTasks } from './watch-tasks.ts'

const USER = 'paused'
const REFUSED = 'holdfast_refused_writes_total'

/**
 * The holder is stopped by SIGSTOP in the middle of its calls, and their answers arrive while it sleeps: half say
 * "finished", half "not yet". Another takes over and finishes everything; what the first one then learns and wants to
 * write when it wakes is all out of date.
 */
export async function runPausedHolder(
  lab: PollerLab,
  { lock, tasks }: { lock: Exclude<LockKind, 'none'>; tasks: number },
): Promise<Finding[]> {
  const found = createFindings(`paused holder: lock ${lock}`)
  const many = { perSecond: 1_000, inFlight: tasks * 2 }
  // Calls outlast the pause, so that it is their answers that come late and not their end.
  const stage = await lab.openStage({ lock, limits: { query: many, callTimeoutMs: 20_000 } })
  const { sql, kie, replicas } = stage
  const undo: (() => Promise<void>)[] = [stage.close]
  const openStreamAt = (url: string) => undo.push(watchTasks(url, USER))
  try {
    const holder = await until('a holder', async () => (await stage.holders())[0], { withinMs: 10_000 })
    // The first to be asked about are odd: finished at once. The others are not, the first time.
    kie.isFinished = (id, nth) => nth > 1 || Number(id.split('-')[1]) % 2 === 1
    kie.hold()
    openStreamAt(holder.url)
    await seedTasks(sql, { userId: USER, name: 'paused', count: tasks, as: 'running' })
    await until('its calls', async () => kie.arrivals.length >= tasks, { withinMs: 10_000 })
    const refusedBefore = await holder.metric(REFUSED)

    const pausedAt = performance.now()
    holder.pause()
    kie.release()
    const others = replicas.filter((replica) => replica !== holder)
    const next = await until(
      'another holder',
      async () => {
        for (const other of others) {
          if ((await other.metric('holdfast_lock_held', 'name="provider:kie"')) === 1) return other
        }
        return null
      },
      { withinMs: 20_000 },
    )
    const takeoverMs = performance.now() - pausedAt
    // Up to the TTL since its last sign of life, then whoever waits must look; ending a session takes one look more.
    found.atMost('ms until another holds the lock', takeoverMs, LOCK_TTL_MS + 4 * LOCK_RETRY_MS)
    if (lock === 'advisory') {
      const ended = others.some((other) => other.said().includes('ended the session of a lock holder'))
      found.equal('the silent session was ended', String(ended), 'true')
    }

    // Somebody looks at their tasks, by way of the new holder: that makes them due.
    openStreamAt(next.url)
    await until('all settled meanwhile', async () => (await readTasks(sql)).active === 0, {
      withinMs: 20_000,
    })
    const before = await snapshot()
    holder.wake()
    const refused = await until(
      'its writes refused',
      async () => {
        const count = (await holder.metric(REFUSED)) - refusedBefore
        return count >= tasks && count
      },
      { withinMs: 20_000 },
    )
    found.atLeast('late writes refused, by its own metric', refused, tasks)
    await until(
      'it to stand by',
      async () => (await holder.metric('holdfast_lock_held', 'name="provider:kie"')) === 0,
      { withinMs: 10_000 },
    )
    found.equal('rows that its late writes changed', difference(before, await snapshot()), 0)
    found.equal('holders in the end', (await stage.holders()).length, 1)
    const end = await readTasks(sql)
    found.equal('tasks completed', end.completed, tasks)
    found.equal('tasks ended twice', end.endedTwice, 0)
    found.equal('tasks without exactly one message', end.messagesAmiss, 0)
    found.equal('tasks whose version is not its number of writes', end.versionsAmiss, 0)
    return found.all
  } finally {
    for (const replica of replicas) replica.wake()
    for (const step of undo.reverse()) await step()
  }

  /** Every row of tasks, work and messages, down to the transaction that wrote it. */
  async function snapshot(): Promise<string[]> {
    const rows = await sql<{ row: string }[]>`
      select 'task ' || t.xmin || t::text as row from holdfast.tasks t
      union all select 'work ' || w.xmin || w::text from holdfast.work w
      union all select 'message ' || m.xmin || m::text from holdfast.messages m
      order by 1
    `
    return rows.map(({ row }) => row)
  }
}

function difference(before: string[], after: string[]): number {
  const [was, is] = [new Set(before), new Set(after)]
  return before.filter((row) => !is.has(row)).length + after.filter((row) => !was.has(row)).length
}
