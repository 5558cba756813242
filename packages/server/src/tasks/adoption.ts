import type { Task } from '@holdfast/shared'
import type { CreateTaskBody } from '@holdfast/shared/schemas'
import type { Sql, Tx } from '../database/connect.ts'
import { HoldfastError } from '../errors.ts'
import { findTask } from './find-task.ts'
import type { TaskType } from './task-types.ts'

/** A job that the app started at the provider itself and hands over. */
export interface Adoption {
  provider: string
  externalId: string
  /** Null: now. */
  startedAt: Date | null
}

/** How far back a job may have been started: longer than any of them takes, and not in another year. */
const OLDEST_START_MS = 24 * 60 * 60_000

/** What is to be adopted, if anything is. What makes no sense is refused before anything is written. */
export function readAdoption(body: CreateTaskBody, type: TaskType, nowMs: number): Adoption | null {
  const { provider, externalId, startedAt } = body
  if (externalId === undefined) {
    if (provider === undefined && startedAt === undefined) return null
    throw new HoldfastError(
      'INVALID_REQUEST',
      'externalId: to adopt a job that you started yourself, give its id at the provider. Leave provider and startedAt out otherwise.',
    )
  }
  if (provider === undefined) {
    throw new HoldfastError('INVALID_REQUEST', 'provider: say whose id externalId is.')
  }
  if (provider !== type.provider) {
    throw new HoldfastError(
      'INVALID_REQUEST',
      `provider: tasks of type "${body.type}" are done by "${type.provider}", not by "${provider}".`,
    )
  }
  const startedMs = startedAt === undefined ? null : Date.parse(startedAt)
  if (startedMs !== null && (startedMs > nowMs + 60_000 || startedMs < nowMs - OLDEST_START_MS)) {
    throw new HoldfastError(
      'INVALID_REQUEST',
      'startedAt: must be in the past, and within the last 24 hours.',
    )
  }
  return { provider, externalId, startedAt: startedMs === null ? null : new Date(Math.min(startedMs, nowMs)) }
}

/**
 * Puts a new task where an accepted one is: running since its start, its id known, its first poll due now. In the
 * transaction that makes the task, which ends here if another task has that job already.
 */
export async function startAdopted(
  tx: Tx,
  taskId: string,
  { provider, externalId }: Adoption,
  type: TaskType,
  lane: string,
): Promise<void> {
  // Of two who adopt the same job at once, the second finds the task of the first.
  await tx`select pg_advisory_xact_lock(hashtextextended(${`adopt ${provider} ${externalId}`}, 0))`
  const own = await tx`
    update holdfast.provider_jobs j set external_id = ${externalId}, accepted_at = now(), sending_at = now()
    where j.task_id = ${taskId} and not exists (
      select from holdfast.provider_jobs o where o.external_id = ${externalId} and o.provider = ${provider}
    )
  `
  if (own.count === 0) {
    throw new HoldfastError(
      'EXTERNAL_ID_TAKEN',
      'Another task has this job already. Each job is adopted once.',
    )
  }
  await tx`
    update holdfast.tasks set
      status = 'running',
      started_at = created_at,
      deadline_at = created_at + coalesce(timeout_ms, ${type.deadlineMs}) * interval '1 ms',
      estimated_at = created_at + ${type.expectedMs} * interval '1 ms'
    where id = ${taskId}
  `
  await tx`insert into holdfast.work (task_id, kind, provider, lane) values (${taskId}, 'poll', ${provider}, ${lane})`
}

/** The user's own task for that job, if it was adopted before: asking again is no error. */
export async function findAdopted(
  sql: Sql,
  userId: string,
  { provider, externalId }: Adoption,
): Promise<Task | null> {
  const [job] = await sql<{ taskId: string }[]>`
    select task_id as "taskId" from holdfast.provider_jobs where external_id = ${externalId} and provider = ${provider}
  `
  return job ? findTask(sql, userId, job.taskId) : null
}
