import { retryDeadlock } from '../../database/retry-deadlock.ts'
import { type Fence, takeOver } from '../../engine/claim.ts'
import type { SweepContext } from '../../sweeps/run-sweeps.ts'
import { sparingOthers, traceIdOf } from '../../sweeps/sparing-others.ts'
import { DEADLINE_EXCEEDED, HARD_LIMIT_PAST_DEADLINE_MS } from './poll-actions.ts'

const MOST = 1_000

type Lost = { taskId: string; traceId: string | null } & (Fence | { workId: null; epoch: null })

/**
 * Tasks past their deadline. They are not failed here but polled now: an outage of ours must not fail what the
 * provider has finished, so only a poll that says "still running" does. Past the hard limit nothing is waited for.
 */
export async function sweepOverdue({ sql, notify, settle, log }: SweepContext): Promise<number> {
  const hastened = await retryDeadlock(
    () => sql<{ provider: string }[]>`
    update holdfast.work w set due_at = now(), ${takeOver(sql)}
    from (
      select t.id from holdfast.tasks t where t.status = 'running' and t.deadline_at <= now() order by t.deadline_at limit ${MOST}
    ) overdue
    where w.task_id = overdue.id and w.kind = 'poll' and w.part = 0 and w.due_at > now() + interval '5 s'
      -- Silent ones are tried at their own pace: hurrying a provider that is down helps nobody.
      and w.silent_since is null
    returning w.provider
  `,
  )
  for (const provider of new Set(hastened.map((work) => work.provider))) notify.due('poll', provider)
  const isLost = sql`
    t.status = 'running' and t.deadline_at <= now() - ${HARD_LIMIT_PAST_DEADLINE_MS}::float8 * interval '1 ms'
  `
  const lost = await sql<Lost[]>`
    select t.id as "taskId", ${traceIdOf(sql)} as "traceId", w.id::text as "workId", w.epoch
    from holdfast.tasks t left join holdfast.work w on w.task_id = t.id and w.kind = 'poll' and w.part = 0
    where ${isLost} order by t.deadline_at limit ${MOST}
  `
  for (const { taskId, traceId, workId, epoch } of lost) {
    // A task that has come back to life since it was read is another one: its work says so, or its deadline does.
    const result = await sparingOthers(log, { taskId, traceId }, () =>
      settle(taskId, DEADLINE_EXCEEDED, {
        ...(workId === null ? {} : { fence: { workId, epoch } }),
        onlyIf: async (tx) =>
          (await tx`select from holdfast.tasks t where t.id = ${taskId} and ${isLost}`).count > 0,
      }),
    )
    if (result?.kind !== 'settled') continue
    log.warn({ taskId, traceId }, 'given up long after its deadline')
  }
  return hastened.count + lost.length
}
