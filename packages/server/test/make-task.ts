import type { Task } from '@holdfast/shared'
import type { CreateTaskBody } from '@holdfast/shared/schemas'
import type { Sql } from '../src/database/connect.ts'
import { createTask } from '../src/tasks/create-task.ts'
import { acceptTask } from '../src/work/send/accept-task.ts'
import { untold } from './record-notices.ts'
import { scriptedTypes } from './scripted-types.ts'

export interface MakeTaskOptions extends Partial<CreateTaskBody> {
  userId?: string
  provider?: string
}

/** A task that waits to be sent. */
export async function makeTask(
  sql: Sql,
  { userId = 'ada', provider = 'nobody', ...body }: MakeTaskOptions = {},
): Promise<Task> {
  const { task } = await createTask(untold(sql), scriptedTypes(provider, { maxParamsBytes: 1024 * 1024 }), {
    userId,
    body: { type: 'image', params: { prompt: 'a fox' }, ...body },
    idempotencyKey: null,
    traceId: 'trace',
  })
  return task
}

/** A task that its provider has accepted; its first poll is an hour away. */
export async function makeRunningTask(
  sql: Sql,
  { deadlineMs = 600_000, provider, ...options }: MakeTaskOptions & { deadlineMs?: number } = {},
): Promise<Task> {
  // Nobody's until it runs, or an engine that is at work would take it up before we do.
  const task = await makeTask(sql, options)
  await acceptTask(untold(sql), {
    taskId: task.id,
    externalId: `external-${task.id}`,
    provider: 'nobody',
    deadlineMs,
    expectedMs: 10_000,
    firstPollMs: 3_600_000,
    canCancel: false,
  })
  if (provider !== undefined) {
    await sql.begin(async (tx) => {
      await tx`update holdfast.tasks set provider = ${provider} where id = ${task.id}`
      await tx`update holdfast.provider_jobs set provider = ${provider} where task_id = ${task.id}`
      await tx`update holdfast.work set provider = ${provider} where task_id = ${task.id}`
    })
  }
  return task
}
