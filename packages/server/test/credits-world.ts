import type { Task } from '@holdfast/shared'
import type { CreateTaskBody } from '@holdfast/shared/schemas'
import type { Sql } from '../src/database/connect.ts'
import { conversationsPlugin } from '../src/plugins/conversations/conversations-plugin.ts'
import type { CreditsOptions } from '../src/plugins/credits/credits-options.ts'
import { createCreditsPlugin } from '../src/plugins/credits/credits-plugin.ts'
import { createAftermath } from '../src/tasks/aftermath.ts'
import { type CreateTaskInput, createTask, type Submit } from '../src/tasks/create-task.ts'
import type { Settlement } from '../src/tasks/settle-task.ts'
import type { TaskType, TaskTypes } from '../src/tasks/task-types.ts'
import { acceptTask } from '../src/work/send/accept-task.ts'
import { concludeCreate } from '../src/work/send/conclude-create.ts'
import { markSending } from './mark-sending.ts'
import { untold } from './record-notices.ts'
import { scriptedTypes } from './scripted-types.ts'
import { createTestSettle } from './settle-task.ts'

export interface CreditsWorldOptions {
  credits?: false | CreditsOptions
  type?: Partial<TaskType>
}

export const ENDS = {
  completed: {
    status: 'completed',
    outputs: [{ url: 'https://p.example/0.png', contentType: 'image/png', urlLifetimeMs: null }],
  },
  failed: {
    status: 'failed',
    failure: { code: 'PROVIDER_FAILED', message: 'It did not work.', retryable: true },
  },
  cancelled: { status: 'cancelled', by: 'user' },
} as const satisfies Record<string, Settlement>

/** A server's tasks and credits without the server: `image` costs 4, and new users are given 100. */
export function createCreditsWorld(
  sql: Sql,
  { credits = { initial: 100 }, type = {} }: CreditsWorldOptions = {},
) {
  const types: TaskTypes = scriptedTypes('nobody', { credits: 4, ...type })
  const plugins = [createCreditsPlugin(types, credits), conversationsPlugin]
  const aftermath = createAftermath(plugins)
  const submit: Submit = (input) => createTask(untold(sql), types, input, plugins)

  return {
    types,
    plugins,
    submit,
    settle: createTestSettle(sql, plugins),
    async make(
      userId: string,
      body: Partial<CreateTaskBody> = {},
      input: Partial<CreateTaskInput> = {},
    ): Promise<Task> {
      const { task } = await submit({
        userId,
        body: { type: 'image', params: { prompt: 'a fox' }, ...body },
        idempotencyKey: null,
        traceId: 'trace',
        ...input,
      })
      return task
    },
    aftermath,
    /** The create leaves for the provider. */
    async send(taskId: string): Promise<boolean> {
      const [work] = await sql<{ workId: string; epoch: number }[]>`
        select id::text as "workId", epoch from holdfast.work where task_id = ${taskId} and kind = 'send'
      `
      return work ? markSending(sql, taskId, work) : false
    },
    /** The provider takes it on. */
    async accept(taskId: string): Promise<void> {
      const accepted = {
        taskId,
        externalId: `external-${taskId}`,
        provider: 'nobody',
        deadlineMs: 600_000,
        expectedMs: 1_000,
        firstPollMs: 3_600_000,
        canCancel: false,
      }
      await acceptTask(untold(sql), accepted, aftermath)
    },
    /** The provider did not take it, or nobody will ever know: for a task that was cancelled meanwhile. */
    async conclude(taskId: string, fate: 'not-accepted' | 'lost'): Promise<boolean> {
      return (await concludeCreate(untold(sql), aftermath, { taskId, fate })) !== null
    },
    async account(userId: string): Promise<{ balance: number; held: number } | undefined> {
      const [row] = await sql<{ balance: number; held: number }[]>`
        select balance::int, held::int from holdfast.credit_accounts where user_id = ${userId}
      `
      return row && { ...row }
    },
    /** Kinds and amounts of what the ledger says of a user or a task, in the order in which they can come. */
    async ledger(of: { userId: string } | { taskId: string }): Promise<string[]> {
      const rows = await sql<{ kind: string; amount: number }[]>`
        select kind, amount::int from holdfast.credit_ledger
        where ${'userId' in of ? sql`user_id = ${of.userId}` : sql`task_id = ${of.taskId}`}
        order by array_position(array['grant', 'hold', 'capture', 'refund', 'adjust'], kind), amount
      `
      return rows.map(({ kind, amount }) => `${kind} ${amount}`)
    },
  }
}
