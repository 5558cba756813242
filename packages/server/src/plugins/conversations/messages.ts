import type { Message } from '@holdfast/shared'
import { taskId as uuid } from '@holdfast/shared/schemas'
import type { Sql } from '../../database/connect.ts'
import { HoldfastError } from '../../errors.ts'
import { type ArtifactRow, outputsOf } from '../../tasks/artifact-row.ts'
import { type Presenter, withoutUrls } from '../../tasks/present-tasks.ts'
import { SHORTENED_LETTERS } from '../../tasks/shown-params.ts'

interface MessageRow extends Omit<Message, 'outputs' | 'createdAt' | 'paramsOmitted'> {
  paramsOmitted: boolean
  outputs: ArtifactRow[]
  createdAt: Date
}

/**
 * Oldest first, to the millisecond with which an id begins. Within one the order is by chance, but it never changes: the
 * last id is the cursor, and pages neither leave out nor repeat a message. At the end there is no cursor to go on from.
 */
export async function listMessages(
  sql: Sql,
  {
    userId,
    conversationId,
    cursor,
    limit,
  }: { userId: string; conversationId: string; cursor?: string; limit: number },
  present: Presenter = withoutUrls,
): Promise<{ messages: Message[]; nextCursor: string | null }> {
  if (cursor !== undefined && !uuid.safeParse(cursor).success) {
    throw new HoldfastError(
      'INVALID_REQUEST',
      'cursor: not one that this list gave out. Start again without it.',
    )
  }
  const [own] =
    await sql`select from holdfast.conversations where id = ${conversationId} and user_id = ${userId}`
  if (!own) throw new HoldfastError('NOT_FOUND', 'There is no such conversation.')

  const rows = await sql<MessageRow[]>`
    select
      m.id, m.conversation_id as "conversationId", m.role, m.task_id as "taskId", m.task_type as "taskType",
      m.placeholder_id as "placeholderId", m.credits_spent::float8 as "creditsSpent", m.created_at as "createdAt",
      coalesce(m.shown_params, m.params) as params, m.shown_params is not null as "paramsOmitted",
      case when m.shown_params is null then m.content else left(m.content, ${SHORTENED_LETTERS}) end as content,
      ${outputsOf(sql, sql`a.message_id = m.id`)} as outputs
    from holdfast.messages m
    where m.conversation_id = ${conversationId} ${cursor === undefined ? sql`` : sql`and m.id > ${cursor}`}
    order by m.id
    limit ${limit + 1}
  `
  const page = rows.slice(0, limit)
  const outputs = await present.outputs(page.map((row) => row.outputs))
  const messages = page.map(
    ({ paramsOmitted, ...row }, index): Message => ({
      ...row,
      ...(paramsOmitted ? { paramsOmitted: true } : {}),
      outputs: outputs[index] ?? [],
      createdAt: row.createdAt.toISOString(),
    }),
  )
  return { messages, nextCursor: rows.length > limit ? (messages.at(-1)?.id ?? null) : null }
}
