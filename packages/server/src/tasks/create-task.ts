import { type Lane, PRIORITIES, type Task } from '@holdfast/shared'
import type { CreateTaskBody } from '@holdfast/shared/schemas'
import type { Sql, Tx } from '../database/connect.ts'
import { transaction } from '../database/transaction.ts'
import { HoldfastError } from '../errors.ts'
import { canonicalHash } from './canonical-hash.ts'
import { findTask } from './find-task.ts'
import { requireRoomInMinute } from './require-room-in-minute.ts'
import { scrubSecrets } from './scrub-secrets.ts'
import type { TaskTypes } from './task-types.ts'

export interface CreateTaskInput {
  userId: string
  body: CreateTaskBody
  idempotencyKey: string | null
  traceId: string
  /** The task that this one repeats. */
  retryOf?: string
  /** @default 'free_default' */
  lane?: Lane
  /** How many tasks the user may create in a minute. @default no limit */
  perMinute?: number
  /** How long its files are kept once it has finished. @default 3 days */
  keepMs?: number
}

/** A step of priority is worth this much waiting: an urgent task goes before a normal one that came 15 s earlier. */
const SECONDS_PER_PRIORITY = 1

/**
 * Commits the task and the work of submitting it; nothing has been sent yet when this returns (F8). A repeated
 * idempotency key finds the task of the first call.
 */
export async function createTask(
  sql: Sql,
  types: TaskTypes,
  input: CreateTaskInput,
): Promise<{ task: Task; created: boolean }> {
  const { userId, body, idempotencyKey } = input
  const type = Object.hasOwn(types, body.type) ? types[body.type] : undefined
  if (!type) {
    throw new HoldfastError(
      'UNKNOWN_TASK_TYPE',
      `There is no task type "${body.type}". Known: ${Object.keys(types).join(', ')}.`,
    )
  }
  const parsed = type.params.safeParse(scrubSecrets(body.params))
  if (!parsed.success) {
    const issues = parsed.error.issues.map((issue) => `params.${issue.path.join('.')}: ${issue.message}`)
    throw new HoldfastError('INVALID_PARAMS', issues.join('; '))
  }

  const lane = input.lane ?? 'free_default'
  const priority = PRIORITIES[body.priority ?? 'normal']
  const bodyHash = canonicalHash({ ...body, retryOf: input.retryOf ?? null })
  const earlier = await findByKey(sql, userId, idempotencyKey, bodyHash)
  if (earlier) return { task: earlier, created: false }

  const taskId = await transaction(sql, async (tx) => {
    if (input.perMinute !== undefined) await requireRoomInMinute(tx, userId, input.perMinute)
    if (body.conversationId) await requireConversation(tx, userId, body.conversationId)
    const [row] = await tx<{ id: string }[]>`
      insert into holdfast.tasks (user_id, type, provider, params, metadata, conversation_id, placeholder_id, retry_of, priority, lane, max_attempts, timeout_ms, keep_ms)
      values (
        ${userId}, ${body.type}, ${type.provider}, ${tx.json(parsed.data as Json)}, ${tx.json(scrubSecrets(body.metadata ?? {}) as Json)},
        ${body.conversationId ?? null}, ${body.placeholderId ?? null}, ${input.retryOf ?? null}, ${priority}, ${lane}, ${body.maxAttempts ?? 3}, ${body.timeoutMs ?? null}, ${input.keepMs ?? tx`default`}
      )
      returning id
    `
    const id = row?.id ?? ''
    await tx`insert into holdfast.provider_jobs (task_id, provider, trace_id) values (${id}, ${type.provider}, ${input.traceId})`
    await tx`
      insert into holdfast.work (task_id, kind, provider, lane, due_at)
      values (${id}, 'submit', ${type.provider}, ${lane}, now() - ${priority * SECONDS_PER_PRIORITY} * interval '1 s')
    `
    if (idempotencyKey && !(await takeKey(tx, { userId, key: idempotencyKey, bodyHash, taskId: id })))
      throw new KeyTaken()
    return id
  }).catch((error: unknown) => {
    if (error instanceof KeyTaken) return null
    throw error
  })

  if (taskId === null) {
    // Another request with the same key committed first; this one left nothing behind.
    const winner = await findByKey(sql, userId, idempotencyKey, bodyHash)
    if (winner) return { task: winner, created: false }
    throw new HoldfastError(
      'UNAVAILABLE',
      'The request with this Idempotency-Key is still under way. Try again.',
      {
        retryAfterSeconds: 1,
      },
    )
  }
  const task = await findTask(sql, userId, taskId)
  if (!task) throw new HoldfastError('NOT_FOUND')
  return { task, created: true }
}

type Json = Parameters<Tx['json']>[0]

/** Thrown to roll the transaction back; never leaves this file. */
class KeyTaken extends Error {}

async function requireConversation(tx: Tx, userId: string, conversationId: string): Promise<void> {
  const [own] =
    await tx`select from holdfast.conversations where id = ${conversationId} and user_id = ${userId}`
  if (!own) throw new HoldfastError('NOT_FOUND', 'There is no such conversation.')
}

async function findByKey(
  sql: Sql,
  userId: string,
  key: string | null,
  bodyHash: string,
): Promise<Task | null> {
  if (key === null) return null
  const [found] = await sql<{ bodyHash: string; taskId: string }[]>`
    select body_hash as "bodyHash", task_id as "taskId" from holdfast.idempotency_keys
    where user_id = ${userId} and key = ${key} and expires_at > now()
  `
  if (!found) return null
  if (found.bodyHash !== bodyHash) {
    throw new HoldfastError(
      'IDEMPOTENCY_KEY_REUSED',
      'This Idempotency-Key was used with another body. Use a new key for a new request.',
    )
  }
  const task = await findTask(sql, userId, found.taskId)
  if (!task) {
    throw new HoldfastError(
      'TASK_REMOVED',
      'This Idempotency-Key made a task that has been removed since, at the end of its keeping time. Use a new key for a new request.',
    )
  }
  return task
}

/** False if somebody else has it. Waits for a transaction that is about to take the same key. */
async function takeKey(
  tx: Tx,
  { userId, key, bodyHash, taskId }: { userId: string; key: string; bodyHash: string; taskId: string },
): Promise<boolean> {
  const taken = await tx`
    insert into holdfast.idempotency_keys as k (user_id, key, body_hash, task_id)
    values (${userId}, ${key}, ${bodyHash}, ${taskId})
    on conflict (user_id, key) do update
      set body_hash = excluded.body_hash, task_id = excluded.task_id, created_at = now(), expires_at = excluded.expires_at
      where k.expires_at <= now()
    returning 1
  `
  return taken.length > 0
}
