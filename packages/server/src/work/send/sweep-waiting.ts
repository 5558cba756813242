import type { Tx } from '../../database/connect.ts'
import { giveUp } from '../../dead-letters/give-up.ts'
import type { SweepContext } from '../../sweeps/run-sweeps.ts'
import { sparingOthers } from '../../sweeps/sparing-others.ts'
import type { Settlement } from '../../tasks/settle-task.ts'
import { waitLimitOf } from '../../tasks/task-types.ts'

const MOST = 1_000

const WAIT_EXCEEDED: Settlement = {
  status: 'failed',
  failure: {
    code: 'WAIT_EXCEEDED',
    message: 'It waited too long for the generation service to take it. Nothing was generated; retry later.',
    retryable: true,
  },
}

interface Waiting {
  taskId: string
  userId: string
  traceId: string | null
  lane: string
  provider: string
  workId: string
  epoch: number
  attempts: number
  reason: string | null
}

/** Tasks that no provider has taken within the limit for waiting. One whose create is under way is left alone. */
export async function sweepWaiting({ sql, settle, types, log }: SweepContext): Promise<number> {
  const names = Object.keys(types)
  const waiting = await sql<Waiting[]>`
    select t.id as "taskId", t.user_id as "userId", j.trace_id as "traceId", t.lane, t.provider, w.id::text as "workId", w.epoch, w.attempts, j.last_error as reason
    from unnest(${names}::text[], ${names.map((name) => waitLimitOf(types[name]))}::float8[]) as l (type, wait_ms)
      join holdfast.tasks t on t.status = 'pending' and t.type = l.type and t.created_at <= now() - l.wait_ms * interval '1 ms'
      join holdfast.work w on w.task_id = t.id and w.kind = 'send'
      join holdfast.provider_jobs j on j.task_id = t.id and j.sending_at is null
    order by t.created_at limit ${MOST}
  `
  let ended = 0
  for (const letter of waiting) {
    const reason = letter.reason ?? 'never got its turn'
    const { workId, epoch, taskId, traceId } = letter
    const result = await sparingOthers(log, { taskId, traceId }, () =>
      giveUp(
        settle,
        WAIT_EXCEEDED,
        { ...letter, kind: 'send', reason },
        { fence: { workId, epoch }, onlyIf: async (tx) => !(await isBeingSent(tx, letter)) },
      ),
    )
    if (result?.kind !== 'settled') continue
    ended += 1
    log.warn({ taskId, traceId, reason }, 'waited too long')
  }
  return ended
}

/** Marking it does not raise the epoch, so look again, under the lock that whoever marks it needs too. */
async function isBeingSent(tx: Tx, { taskId }: Waiting): Promise<boolean> {
  await tx`select from holdfast.work where task_id = ${taskId} and kind = 'send' for update`
  const sent =
    await tx`select from holdfast.provider_jobs where task_id = ${taskId} and sending_at is not null`
  return sent.length > 0
}
