import { PRIORITIES, type Priority, placeholderIdOf, type Task } from '@holdfast/shared'
import type { CreateTaskBody } from '@holdfast/shared/schemas'
import type { Sql } from '../database/connect.ts'
import { HoldfastError } from '../errors.ts'
import type { Created, CreateTaskInput, Submit } from './create-task.ts'
import { findTask } from './find-task.ts'

/** A failed or cancelled task again, as a new task that takes over its placeholder and has its own price (F9). */
export async function retryTask(
  sql: Sql,
  submit: Submit,
  input: Omit<CreateTaskInput, 'body' | 'retryOf' | 'lane' | 'keepMs'> & {
    taskId: string
    /** By the plan that the user has now, which may not be the one of the first try. */
    keepMs?: (type: string) => number | Promise<number>
  },
): Promise<Created> {
  const { taskId, keepMs, ...caller } = input
  const earlier = await findTask(sql, input.userId, taskId)
  if (!earlier) throw new HoldfastError('NOT_FOUND', 'There is no such task.')
  if (earlier.status !== 'failed' && earlier.status !== 'cancelled') {
    throw new HoldfastError(
      'TASK_NOT_RETRYABLE',
      `The task is ${earlier.status}; only a failed or cancelled one can be retried.`,
    )
  }
  const [own] = await sql<{ maxAttempts: number; timeoutMs: number | null }[]>`
    select max_attempts as "maxAttempts", timeout_ms as "timeoutMs" from holdfast.tasks where id = ${earlier.id}
  `
  return submit({
    ...caller,
    retryOf: earlier.id,
    lane: earlier.lane,
    ...(keepMs ? { keepMs: await keepMs(earlier.type) } : {}),
    body: {
      type: earlier.type,
      params: earlier.params as CreateTaskBody['params'],
      metadata: earlier.metadata as CreateTaskBody['metadata'],
      conversationId: earlier.conversationId,
      placeholderId: placeholderIdOf(earlier),
      priority: priorityOf(earlier),
      maxAttempts: own?.maxAttempts,
      timeoutMs: own?.timeoutMs ?? undefined,
    },
  })
}

function priorityOf(task: Task): Priority | undefined {
  const names = Object.keys(PRIORITIES) as Priority[]
  return names.find((name) => PRIORITIES[name] === task.priority)
}
