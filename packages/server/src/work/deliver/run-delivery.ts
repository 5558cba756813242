import type { Sql } from '../../database/connect.ts'
import { transaction } from '../../database/transaction.ts'
import { writeDeadLetter } from '../../dead-letters/write-dead-letter.ts'
import { isHeld } from '../../engine/claim.ts'
import { ENDPOINTS } from '../../engine/work-queue.ts'
import { findTask } from '../../tasks/find-task.ts'
import type { ClaimedDelivery } from './claim-deliveries.ts'
import type { DeliveryContext } from './delivery-context.ts'
import { deliveryPause, MOST_DELIVERY_ATTEMPTS } from './delivery-pace.ts'
import { type DeliveryOutcome, postDelivery } from './post-delivery.ts'

interface Pending {
  id: string
  event: string
  version: number
  happenedAt: Date
  now: Date
}

/** Few enough that all of them are told within a claim. */
const MOST_AT_ONCE = 20

/**
 * Tells an endpoint what has happened to one task, one after the other and in order: the next is sent when the last was
 * taken. What was taken is deleted, whoever holds the claim by then: it is a fact. A process that dies in between tells
 * it again, under the same id.
 */
export async function runDelivery(context: DeliveryContext, work: ClaimedDelivery): Promise<void> {
  const { sql, log, metrics, endpoints, stopping } = context
  const endpoint = endpoints.get(work.endpoint)
  if (!endpoint) return
  let failures = work.attempts
  for (const delivery of await pendingOf(sql, work)) {
    if (stopping.aborted) return handBack(sql, work)
    const outcome = await postDelivery(
      endpoint,
      { id: delivery.id, body: await bodyOf(context, work, delivery), nowMs: delivery.now.getTime() },
      stopping,
    )
    if (stopping.aborted && outcome.kind === 'failed') return handBack(sql, work)
    metrics.delivered(work.endpoint, outcome.kind)
    if (outcome.kind === 'failed') {
      log.warn(
        { taskId: work.taskId, traceId: work.traceId, endpoint: work.endpoint, reason: outcome.reason },
        'a webhook was not taken',
      )
      return putOff(context, { ...work, attempts: failures }, delivery, outcome)
    }
    failures = 0
    // A receiver that wants no more of it is not asked again.
    await sql`delete from holdfast.deliveries where id = ${delivery.id}`
  }
  await end(context, work)
}

function pendingOf(sql: Sql, work: ClaimedDelivery): Promise<Pending[]> {
  return sql<Pending[]>`
    select id, event, version, happened_at as "happenedAt", now() as now from holdfast.deliveries
    where task_id = ${work.taskId} and endpoint = ${work.endpoint} and failed_at is null order by seq limit ${MOST_AT_ONCE}
  `
}

/** What happened, and the task as it is now: its files' URLs would be dead by then if they had been written down. */
async function bodyOf(
  { sql, present }: DeliveryContext,
  { taskId, userId }: ClaimedDelivery,
  { event, version, happenedAt }: Pending,
): Promise<string> {
  const task = await findTask(sql, userId, taskId, present)
  return JSON.stringify({ type: event, timestamp: happenedAt.toISOString(), data: { userId, version, task } })
}

/** Only while the claim is held, and only if nothing was noted meanwhile: else that is told at once. */
async function end({ sql, notify }: DeliveryContext, work: ClaimedDelivery): Promise<void> {
  const ended = await sql`
    delete from holdfast.work w
    where ${isHeld(sql, 'deliver', work)} and w.news = ${work.news} and not exists (
      select from holdfast.deliveries d
      where d.task_id = w.task_id and d.endpoint = ${work.endpoint} and d.failed_at is null
    )
  `
  if (ended.count > 0) return
  await handBack(sql, work)
  notify.dueHere('deliver', ENDPOINTS)
}

async function handBack(sql: Sql, work: ClaimedDelivery): Promise<void> {
  await sql`update holdfast.work w set due_at = now() where ${isHeld(sql, 'deliver', work)}`
}

async function putOff(
  { sql, notify, random, metrics }: DeliveryContext,
  work: ClaimedDelivery,
  delivery: Pending,
  outcome: Extract<DeliveryOutcome, { kind: 'failed' }>,
): Promise<void> {
  if (work.attempts + 1 >= MOST_DELIVERY_ATTEMPTS) {
    const isOver = await transaction(sql, async (tx) => {
      const ended = await tx`delete from holdfast.work w where ${isHeld(tx, 'deliver', work)}`
      if (ended.count === 0) return false
      // Those after it too: they would come out of order.
      await tx`
        update holdfast.deliveries set failed_at = now() where task_id = ${work.taskId} and endpoint = ${work.endpoint}
      `
      const reason = `"${work.endpoint}" did not take ${delivery.event}: ${outcome.reason}`
      await writeDeadLetter(tx, { ...work, kind: 'deliver', provider: work.endpoint, reason })
      return true
    })
    if (isOver) metrics.deadLettered(work.endpoint, 'deliver')
    else metrics.refused(work.endpoint, 1)
    return
  }
  const pauseMs = Math.max(outcome.retryAfterMs ?? 0, deliveryPause(work.attempts + 1, random()))
  const put = await sql`
    update holdfast.work w set attempts = ${work.attempts + 1}, due_at = now() + ${pauseMs}::float8 * interval '1 ms'
    where ${isHeld(sql, 'deliver', work)}
  `
  if (put.count > 0) notify.dueHere('deliver', ENDPOINTS, pauseMs)
  else metrics.refused(work.endpoint, 1)
}
