import type { Lane, Priority, Task } from '@holdfast/shared'
import type { CreateTaskBody } from '@holdfast/shared/schemas'
import type { WriteContext } from '../bus/create-notify.ts'
import type { Tx } from '../database/connect.ts'
import { transaction } from '../database/transaction.ts'
import { HoldfastError } from '../errors.ts'
import type { Plugin } from '../plugins/plugin.ts'
import { limitStatements, PLUGIN_LIMIT_MS, runHook } from '../plugins/run-hook.ts'
import { findAdopted, startAdopted } from './adoption.ts'
import { findTask } from './find-task.ts'
import { findByKey, takeKey } from './idempotency-key.ts'
import { DEFAULT_KEEP_MS } from './keep-results.ts'
import { keyOf, type PreparedTask, prepareTask } from './prepare-task.ts'
import { type Room, requireRoom } from './require-room.ts'
import { shownParams } from './shown-params.ts'
import type { TaskTypes } from './task-types.ts'
import { lowestTurn, ownWaiting } from './turn-of.ts'
import type { TakeUserTurn } from './user-turns.ts'

export interface CreateTaskInput {
  userId: string
  body: CreateTaskBody
  idempotencyKey: string | null
  traceId: string
  /** The task that this one repeats. */
  retryOf?: string
  /** @default 'free_default' */
  lane?: Lane
  /** How many tasks the user may have. @default no limit */
  room?: Room
  /** How long its files are kept once it has finished. @default 3 days */
  keepMs?: number
  /** What its user pays for. Remembered, so that a retry by somebody else keeps it. @default null */
  plan?: string | null
  /** By the plan of its user, where the request does not say. @default 'normal' */
  priority?: Priority
}

export interface Created {
  task: Task
  /** False: a repeated idempotency key, and the task of the first call. */
  created: boolean
}

/** Takes a task on. One for a server, so that whoever calls it need not know what else takes part. */
export type Submit = (input: CreateTaskInput) => Promise<Created>

/**
 * Commits one task, the work of sending it and what plugins add; nothing has been sent yet when this returns. A repeated
 * idempotency key finds the task of the first call. `createTogether` does the same for many that need nothing special.
 */
export async function createTask(
  { sql, notify }: WriteContext,
  types: TaskTypes,
  input: CreateTaskInput,
  plugins: readonly Plugin[] = [],
  takeTurn: TakeUserTurn = (_, work) => work(),
): Promise<Created> {
  const { userId } = input
  // Before it is looked at: a server that no longer takes such tasks may be asked about one that was taken on.
  const key = keyOf(input)
  const earlier = key && (await findByKey(sql, key))
  if (earlier) return { task: earlier, created: false }
  const prepared = prepareTask(types, input)
  const { adoption } = prepared

  try {
    const write = () =>
      transaction(sql, async (tx, over) => {
        tx.afterCommit(() => {
          notify.due(adoption ? 'poll' : 'send', prepared.submission.provider)
          notify.changed(userId)
        })
        return insert(tx, over, prepared, plugins)
      })
    // Only those who are counted wait for each other.
    const taskId = await (input.room ? takeTurn(userId, write) : write())
    const task = await findTask(sql, userId, taskId)
    if (!task) throw new HoldfastError('NOT_FOUND')
    return { task, created: true }
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error
    // Another request with the same key may have committed first, and taken the room or the credits for it.
    const winner = key && (await findByKey(sql, key))
    if (winner) return { task: winner, created: false }
    const adopted = adoption && (await findAdopted(sql, userId, adoption))
    if (adopted) return { task: adopted, created: false }
    throw error
  }
}

type Json = Parameters<Tx['json']>[0]

async function insert(
  tx: Tx,
  over: AbortSignal,
  { input, submission, key, adoption, deadlineMs, ...rest }: PreparedTask,
  plugins: readonly Plugin[],
): Promise<string> {
  const { userId, type, provider, params, metadata, conversationId, placeholderId, retryOf } = submission
  const { lane, priority } = submission
  const queue = { provider, lane, priority }
  const place = { tx, over, limitMs: PLUGIN_LIMIT_MS }
  if (input.room) await requireRoom(tx, userId, input.room)
  for (const plugin of plugins) {
    if (!plugin.beforeSubmit) continue
    await runHook(place, `beforeSubmit of plugin "${plugin.name}"`, (lent) =>
      plugin.beforeSubmit?.(lent, submission),
    )
  }
  if (retryOf !== null) await keepFromRemoval(tx, retryOf)
  const shown = shownParams(params, metadata)
  const [row] = await tx<{ id: string }[]>`
    insert into holdfast.tasks (user_id, type, provider, params, shown_params, metadata, conversation_id, placeholder_id, retry_of, priority, lane, max_attempts, timeout_ms, keep_ms, plan, created_at)
    values (
      ${userId}, ${type}, ${provider}, ${tx.json(params as Json)}, ${shown && tx.json(shown as Json)}, ${tx.json(metadata as Json)},
      ${conversationId}, ${placeholderId}, ${retryOf}, ${priority}, ${lane}, ${input.body.maxAttempts ?? 3},
      ${deadlineMs}, ${input.keepMs ?? DEFAULT_KEEP_MS}, ${input.plan ?? null},
      ${adoption?.startedAt ?? tx`default`}
    )
    returning id
  `
  const id = row?.id ?? ''
  await tx`insert into holdfast.provider_jobs (task_id, provider, trace_id) values (${id}, ${provider}, ${input.traceId})`
  if (adoption) await startAdopted(tx, id, adoption, rest.type, lane)
  else {
    await tx`
      insert into holdfast.work (task_id, kind, provider, lane, priority, turn)
      values (
        -- The task is among those of its user that wait.
        ${id}, 'send', ${provider}, ${lane}, ${priority}, ${lowestTurn(tx, queue)} + ${ownWaiting(tx, queue, userId)} - 1
      )
    `
  }
  // Before the plugins: of two requests with one key, the second must not be refused for what the first has taken.
  if (key && !(await takeKey(tx, key, id))) {
    throw new HoldfastError(
      'UNAVAILABLE',
      'The request with this Idempotency-Key is still under way. Try again.',
      { retryAfterSeconds: 1 },
    )
  }
  const joining = plugins.filter((plugin) => plugin.onSubmit)
  if (joining.length > 0) await limitStatements(place)
  for (const plugin of joining) {
    await runHook(place, `onSubmit of plugin "${plugin.name}"`, (lent) =>
      plugin.onSubmit?.(lent, { ...submission, id }),
    )
  }
  return id
}

/** Old rows are removed now and then, and the one that this task refers to must stay until it does. */
async function keepFromRemoval(tx: Tx, taskId: string): Promise<void> {
  const [kept] = await tx`select from holdfast.tasks where id = ${taskId} for key share`
  if (!kept) throw new HoldfastError('NOT_FOUND', 'There is no such task.')
}
