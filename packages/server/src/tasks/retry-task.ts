import { PRIORITIES, type Priority, placeholderIdOf, type Task } from '@holdfast/shared'
import type { CreateTaskBody } from '@holdfast/shared/schemas'
import type { Sql } from '../database/connect.ts'
import { HoldfastError } from '../errors.ts'
import type { Created, CreateTaskInput, Submit } from './create-task.ts'
import { findTask } from './find-task.ts'

/**
 * A failed or cancelled task again, as a new task that takes over its placeholder and has its own price. So is a completed
 * one all of whose files are gone without a copy.
 */
export async function retryTask(
  sql: Sql,
  submit: Submit,
  input: Omit<CreateTaskInput, 'body' | 'retryOf' | 'lane' | 'keepMs' | 'priority'> & {
    taskId: string
    /** By the plan that the user has now. @default what was kept for the first try, with its plan */
    keepMs?: (type: string) => number | Promise<number>
  },
): Promise<Created> {
  const { taskId, keepMs, plan, ...caller } = input
  const earlier = await findTask(sql, input.userId, taskId)
  if (!earlier) throw new HoldfastError('NOT_FOUND', 'There is no such task.')
  if (earlier.status !== 'failed' && earlier.status !== 'cancelled' && !isLost(earlier)) {
    throw new HoldfastError(
      'TASK_NOT_RETRYABLE',
      `The task is ${earlier.status}; only a failed or cancelled one can be retried, or one whose files were all lost.`,
    )
  }
  const [own] = await sql<Own[]>`
    select max_attempts as "maxAttempts", timeout_ms as "deadlineMs", keep_ms::float8 as "keepMs", plan from holdfast.tasks where id = ${earlier.id}
  `
  return submit({
    ...caller,
    retryOf: earlier.id,
    lane: earlier.lane,
    ...(keepMs
      ? { keepMs: await keepMs(earlier.type), plan: plan ?? null }
      : { ...(own ? { keepMs: own.keepMs } : {}), plan: own?.plan ?? null }),
    body: {
      type: earlier.type,
      params: earlier.params as CreateTaskBody['params'],
      metadata: earlier.metadata as CreateTaskBody['metadata'],
      conversationId: earlier.conversationId,
      placeholderId: placeholderIdOf(earlier),
      priority: priorityOf(earlier),
      maxAttempts: own?.maxAttempts,
      deadlineMs: own?.deadlineMs ?? undefined,
    },
  })
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
