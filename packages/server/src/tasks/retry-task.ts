import { PRIORITIES, type Priority, placeholderIdOf, type Task } from '@holdfast/shared'
import type { CreateTaskBody } from '@holdfast/shared/schemas'
import type { Sql } from '../database/connect.ts'
import { HoldfastError } from '../errors.ts'
import type { Created, CreateTaskInput, Submit } from './create-task.ts'
import { findTask } from './find-task.ts'

/** What a new task of a user would get today. */
export type NewSettings = Required<Pick<CreateTaskInput, 'lane' | 'priority' | 'keepMs' | 'plan'>>

/**
 * A failed or cancelled task again, as a new task that takes over its placeholder and has its own price. So is a completed
 * one all of whose files are gone without a copy.
 */
export async function retryTask(
  sql: Sql,
  submit: Submit,
  input: Omit<CreateTaskInput, 'body' | 'retryOf' | keyof NewSettings> & {
    taskId: string
    /**
     * For a retry by its user, who may say none of this today. Deadline and attempts then are the defaults.
     * @default all as the first task had it, the deadline within what its type allows
     */
    settingsFor?: (task: Task) => Promise<NewSettings>
  },
): Promise<Created> {
  const { taskId, settingsFor, ...caller } = input
  const earlier = await findTask(sql, input.userId, taskId)
  if (!earlier) throw new HoldfastError('NOT_FOUND', 'There is no such task.')
  if (earlier.status !== 'failed' && earlier.status !== 'cancelled' && !isLost(earlier)) {
    throw new HoldfastError(
      'TASK_NOT_RETRYABLE',
      `The task is ${earlier.status}; only a failed or cancelled one can be retried, or one whose files were all lost.`,
    )
  }
  const { body, ...settings } = settingsFor
    ? { ...(await settingsFor(earlier)), body: {} }
    : await readOwn(sql, earlier)
  return submit({
    ...caller,
    ...settings,
    retryOf: earlier.id,
    body: {
      ...body,
      type: earlier.type,
      params: earlier.params as CreateTaskBody['params'],
      metadata: earlier.metadata as CreateTaskBody['metadata'],
      conversationId: earlier.conversationId,
      placeholderId: placeholderIdOf(earlier),
    },
  })
}

type Kept = Pick<CreateTaskInput, 'lane' | 'keepMs' | 'plan'> & {
  body: Pick<CreateTaskBody, 'priority' | 'maxAttempts' | 'deadlineMs'>
}

/** What the first task had. */
async function readOwn(sql: Sql, earlier: Task): Promise<Kept> {
  const [own] = await sql<Own[]>`
    select max_attempts as "maxAttempts", timeout_ms as "deadlineMs", keep_ms::float8 as "keepMs", plan from holdfast.tasks where id = ${earlier.id}
  `
  return {
    lane: earlier.lane,
    ...(own ? { keepMs: own.keepMs } : {}),
    plan: own?.plan ?? null,
    body: {
      priority: priorityOf(earlier),
      maxAttempts: own?.maxAttempts,
      deadlineMs: own?.deadlineMs ?? undefined,
    },
  }
}

/** What the wire does not show of a task. */
interface Own {
  maxAttempts: number
  deadlineMs: number | null
  keepMs: number
  plan: string | null
}

function isLost({ status, result }: Task): boolean {
  const outputs = result?.outputs ?? []
  return status === 'completed' && outputs.length > 0 && outputs.every(({ state }) => state === 'expired')
}

function priorityOf(task: Task): Priority | undefined {
  const names = Object.keys(PRIORITIES) as Priority[]
  return names.find((name) => PRIORITIES[name] === task.priority)
}
