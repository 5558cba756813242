import { timingSafeEqual } from 'node:crypto'
import type { WriteContext } from '../bus/create-notify.ts'
import type { Sql, Tx } from '../database/connect.ts'
import { transaction } from '../database/transaction.ts'
import { takeOver } from '../engine/claim.ts'
import type { Provider, WebhookCall, WebhookReading } from '../providers/provider.ts'
import type { TaskTypes } from '../tasks/task-types.ts'
import { acceptTask } from '../work/send/accept-task.ts'

export interface WebhookContext extends WriteContext {
  types: TaskTypes
}

export interface HeardFrom {
  provider: Provider
  /** Reads what was sent and has it understood. Only called when the address, if it has a secret, has proven good. */
  read(understand: (call: WebhookCall) => Promise<WebhookReading>): Promise<WebhookReading>
  /** From the address that was called; absent for webhooks that a vendor sends for a whole account. */
  callback?: { taskId: string; secret: string }
}

export type Hearing =
  | { kind: 'heard' }
  /** Nothing to do: a repeat, a task that has ended, or one that is not ours. */
  | { kind: 'nothing-to-do'; reason: string }
  | { kind: 'refused'; reason: string }
  | { kind: 'unreadable'; reason: string }

interface Job {
  taskId: string
  type: string
  externalId: string | null
  secret: string
  isSending: boolean
}

/**
 * Takes a webhook as a hint: whatever it says, the provider is asked. It makes the poll due now and raises its epoch, so
 * that a due time which is being written at this moment cannot undo it.
 */
export async function hearWebhook(
  context: WebhookContext,
  { provider, read, callback }: HeardFrom,
): Promise<Hearing> {
  const { sql, notify } = context
  if (!provider.readWebhook) return { kind: 'refused', reason: `${provider.name} sends no webhooks` }
  const { readWebhook } = provider
  const addressed = callback ? await findByCallback(sql, provider, callback) : null
  if (callback && !addressed) return { kind: 'refused', reason: 'the address is not one that we gave out' }
  const reading = await read((call) => readWebhook.call(provider, call))
  if (reading.kind === 'forged' || reading.kind === 'stale')
    return { kind: 'refused', reason: reading.reason }
  if (reading.kind === 'unreadable') return reading
  if (reading.kind === 'irrelevant') return { kind: 'nothing-to-do', reason: 'about nothing of ours' }

  const { externalId, deliveryId, isSigned } = reading
  if (!isSigned && !callback)
    return { kind: 'refused', reason: 'neither signed nor sent to an address of ours' }
  const job = addressed ?? (await findByExternalId(sql, provider, externalId))
  if (!job) return { kind: 'nothing-to-do', reason: 'about a task that is not ours' }
  if (job.externalId !== null && job.externalId !== externalId) {
    return { kind: 'refused', reason: 'the address belongs to another task' }
  }

  // Before the delivery is noted: who dies in between is sent it again, and a noted one would count as a repeat.
  const isGivenUp = job.externalId === null && !job.isSending
  if (isGivenUp) await acceptLate(context, provider, job, externalId)
  const noted = await transaction(sql, async (tx) => {
    if (deliveryId !== null && !(await isFirstDelivery(tx, provider, deliveryId))) return 'heard before'
    // The reply may have been written down since we looked: then there is a poll to make due.
    const isReported = job.externalId === null && (await report(tx, job, externalId))
    if (isReported) return 'work'
    if (!(await makeDue(tx, job.taskId))) return 'no work'
    tx.afterCommit(() => notify.due('poll', provider.name))
    return 'work'
  })
  if (noted === 'heard before') return { kind: 'nothing-to-do', reason: noted }
  return isGivenUp || noted === 'work'
    ? { kind: 'heard' }
    : { kind: 'nothing-to-do', reason: 'the task has ended' }
}

async function findByCallback(
  sql: Sql,
  provider: Provider,
  { taskId, secret }: { taskId: string; secret: string },
): Promise<Job | null> {
  const [job] = await sql<Job[]>`${jobs(sql)} where j.task_id = ${taskId} and j.provider = ${provider.name}`
  return job && isSame(job.secret, secret) ? job : null
}

async function findByExternalId(sql: Sql, provider: Provider, externalId: string): Promise<Job | null> {
  const [job] = await sql<
    Job[]
  >`${jobs(sql)} where j.external_id = ${externalId} and j.provider = ${provider.name}`
  return job ?? null
}

function jobs(sql: Sql) {
  return sql`
    select j.task_id as "taskId", t.type, j.external_id as "externalId", j.callback_secret as secret,
      exists (select from holdfast.work w where w.task_id = j.task_id and w.kind = 'send') as "isSending"
    from holdfast.provider_jobs j join holdfast.tasks t on t.id = j.task_id
  `
}

function isSame(a: string, b: string): boolean {
  const [one, other] = [Buffer.from(a), Buffer.from(b)]
  return one.length === other.length && timingSafeEqual(one, other)
}

async function isFirstDelivery(tx: Tx, provider: Provider, deliveryId: string): Promise<boolean> {
  const first = await tx`
    insert into holdfast.webhook_deliveries (provider, delivery_id) values (${provider.name}, ${deliveryId.slice(0, 500)})
    on conflict do nothing returning 1
  `
  return first.length > 0
}

/**
 * Earlier than the reply to the create: that is still under way and comes any moment, or was lost. Noted for whoever
 * reconciles it. The submit's due time stays: whoever is sending must not be overtaken.
 */
async function report(tx: Tx, { taskId }: Job, externalId: string): Promise<boolean> {
  const noted = await tx`
    update holdfast.provider_jobs set reported_id = ${externalId}
    where task_id = ${taskId} and external_id is null and sending_at is not null
  `
  return noted.count > 0
}

async function makeDue(tx: Tx, taskId: string): Promise<boolean> {
  const due = await tx`
    update holdfast.work w set due_at = now(), ${takeOver(tx)}
    where w.task_id = ${taskId} and w.kind = 'poll' and w.part = 0
  `
  return due.count > 0
}

/** The task was given up as unknown, and now we know: the id is kept, and the provider is asked to stop. */
async function acceptLate(
  context: WebhookContext,
  provider: Provider,
  job: Job,
  externalId: string,
): Promise<void> {
  const { types } = context
  await acceptTask(context, {
    taskId: job.taskId,
    externalId,
    provider: provider.name,
    deadlineMs: types[job.type]?.deadlineMs ?? 1,
    expectedMs: types[job.type]?.expectedMs ?? 0,
    firstPollMs: 0,
    canCancel: provider.cancel !== undefined,
  })
}
