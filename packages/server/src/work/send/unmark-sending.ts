import type { WriteContext } from '../../bus/create-notify.ts'
import type { AnySql } from '../../database/connect.ts'
import { transaction } from '../../database/transaction.ts'
import type { Fence } from '../../engine/claim.ts'
import { isHeld, takeOver } from '../../engine/claim.ts'

/** What tells the mark of a job `j` from any other: its time, to the microsecond, which a JavaScript date has not. */
export function markOf(sql: AnySql) {
  return sql`(extract(epoch from j.sending_at) * 1000000)::bigint::text`
}

export interface PutOff {
  delayMs: number
  /** Whether it is one of those that are spent sometime. */
  countAttempt: boolean
  /** For the operator. */
  reason: string
  /** Why it was not taken, in words for the user. Left out: it was not sent, and the task shows nothing of it. */
  lastError?: string | undefined
}

/**
 * Takes the mark back, because the create certainly was not accepted, and puts the work off. False if the mark has been
 * taken back before, or if the task was cancelled meanwhile: then nobody sends it again.
 *
 * That it was not accepted is a fact, whoever holds the claim by now: PostgreSQL may have been away for longer than a
 * claim is good for. So the mark itself says whether it is still ours to take back, and others lose their claim. Where
 * it is not given, the claim has to be held.
 */
export function unmarkSending(
  { sql, notify }: WriteContext,
  taskId: string,
  { mark = null, ...fence }: Fence & { mark?: string | null },
  { delayMs, countAttempt, reason, lastError }: PutOff,
): Promise<boolean> {
  return transaction(sql, async (tx) => {
    // Locked first: what the next statement looks at is then as whoever held it has left it.
    await tx`select from holdfast.work where task_id = ${taskId} and kind = 'send' for update`
    const isOwn =
      mark === null
        ? tx`${isHeld(tx, 'send', { ...fence, taskId })}`
        : tx`w.task_id = ${taskId} and w.kind = 'send' and w.part = 0 and w.id = ${fence.workId}`
    // Only what is marked: said again, because the answer to the first time was lost, it must not count twice.
    const [put] = await tx<{ provider: string }[]>`
      update holdfast.work w set
        due_at = now() + ${delayMs} * interval '1 ms', attempts = w.attempts + ${countAttempt ? 1 : 0}
        ${mark === null ? tx`` : tx`, ${takeOver(tx)}`}
      where ${isOwn} and exists (
        select from holdfast.provider_jobs j
        where j.task_id = ${taskId} and j.sending_at is not null ${mark === null ? tx`` : tx`and ${markOf(tx)} = ${mark}`}
      )
      returning w.provider
    `
    if (!put) return false
    // Asked after the work was locked, which a cancel needs too.
    const taken = await tx`
      update holdfast.provider_jobs set sending_at = null, last_error = ${reason}
      where task_id = ${taskId} and external_id is null
        and not exists (select from holdfast.tasks where id = ${taskId} and finished_at is not null)
    `
    if (taken.count === 0) return false
    tx.afterCommit(() => notify.dueHere('send', put.provider, delayMs))
    if (lastError !== undefined) {
      const [shown] = await tx<{ userId: string }[]>`
        update holdfast.tasks set
          attempts = least(attempts + 1, 32767), last_error = left(${lastError}, 1000),
          next_attempt_at = now() + ${delayMs} * interval '1 ms'
        where id = ${taskId} and status = 'pending' returning user_id as "userId"
      `
      if (shown) tx.afterCommit(() => notify.changed(shown.userId))
    }
    return true
  })
}
