import { giveUp } from '../dead-letters/give-up.ts'
import type { Settlement } from '../tasks/settle-task.ts'
import { waitLimitOf } from '../tasks/task-types.ts'
import type { SweepContext } from './run-sweeps.ts'

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
  lane: string
  provider: string
  workId: string
  epoch: number
  attempts: number
  reason: string | null
}

/** Tasks that no provider has taken within the limit for waiting. One whose create is under way is left alone. */
export async function sweepWaiting({ sql, bus, types, log }: SweepContext): Promise<number> {
  const names = Object.keys(types)
  const waiting = await sql<Waiting[]>`
    select t.id as "taskId", t.user_id as "userId", t.lane, t.provider, w.id::text as "workId", w.epoch, w.attempts, j.last_error as reason
    from unnest(${names}::text[], ${names.map((name) => waitLimitOf(types[name]))}::float8[]) as l (type, wait_ms)
      join holdfast.tasks t on t.status = 'pending' and t.type = l.type and t.created_at <= now() - l.wait_ms * interval '1 ms'
      join holdfast.work w on w.task_id = t.id and w.kind = 'submit'
      join holdfast.provider_jobs j on j.task_id = t.id and j.sending_at is null
    order by t.created_at limit ${MOST}
  `
  let ended = 0
  for (const letter of waiting) {
    const reason = letter.reason ?? 'never got its turn'
    const result = await giveUp(sql, WAIT_EXCEEDED, { ...letter, kind: 'submit', reason }, letter)
    if (result.kind !== 'settled') continue
    ended += 1
    bus.publish(result.userId)
    log.warn({ taskId: letter.taskId, reason }, 'waited too long')
  }
  return ended
}
