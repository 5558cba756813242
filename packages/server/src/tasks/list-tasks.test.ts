import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/test-database.ts'
import { connect, type Sql } from '../database/connect.ts'
import { listDeadLetters } from '../dead-letters/dead-letters.ts'
import { listMessages } from '../plugins/conversations/messages.ts'
import { listTasks } from './list-tasks.ts'
import { withoutUrls } from './present-tasks.ts'

let database: TestDatabase
let sql: Sql
beforeAll(async () => {
  database = await createTestDatabase()
  sql = connect(database.url)
})
afterAll(async () => {
  await sql.end()
  await database.drop()
})

async function walk(read: (cursor: string | undefined) => Promise<{ ids: string[]; next: string | null }>) {
  const seen: string[] = []
  let cursor: string | undefined
  do {
    const { ids, next } = await read(cursor)
    seen.push(...ids)
    cursor = next ?? undefined
  } while (cursor)
  return seen
}
const idsOf = (rows: readonly { id: string }[]) => rows.map(({ id }) => id)

describe('pages of rows that were made within a millisecond', () => {
  it('of tasks: none is left out and none comes twice', async () => {
    const made = await sql<{ id: string }[]>`
      insert into holdfast.tasks (user_id, type, provider) select 'ada', 'image', 'nobody' from generate_series(1, 100) returning id
    `
    const seen = await walk(async (cursor) => {
      const page = await listTasks(sql, { userId: 'ada', limit: 7, ...(cursor && { cursor }) }, withoutUrls)
      return { ids: idsOf(page.tasks), next: page.nextCursor }
    })
    expect(seen.toSorted()).toEqual(idsOf(made).toSorted())
  })

  it('of messages', async () => {
    const [conversation] = await sql<{ id: string }[]>`
      insert into holdfast.conversations (user_id, title) values ('ada', 'foxes') returning id
    `
    const conversationId = conversation?.id ?? ''
    const made = await sql<{ id: string }[]>`
      insert into holdfast.messages (conversation_id, user_id, role, content)
      select ${conversationId}, 'ada', 'user', n::text from generate_series(1, 100) n returning id
    `
    const seen = await walk(async (cursor) => {
      const page = await listMessages(sql, {
        userId: 'ada',
        conversationId,
        limit: 7,
        ...(cursor && { cursor }),
      })
      return { ids: idsOf(page.messages), next: page.nextCursor }
    })
    expect(seen.toSorted()).toEqual(idsOf(made).toSorted())
  })

  it('of dead letters', async () => {
    const made = await sql<{ id: string }[]>`
      insert into holdfast.dead_letters (task_id, user_id, kind, provider, lane, attempts, reason)
      select id, user_id, 'send', 'p' || n, lane, 3, 'no' from holdfast.tasks, generate_series(1, 5) n returning id
    `
    const seen = await walk(async (cursor) => {
      const page = await listDeadLetters(sql, cursor ?? null)
      return { ids: idsOf(page), next: page.at(-1)?.id ?? null }
    })
    expect(seen.toSorted()).toEqual(idsOf(made).toSorted())
  })
})
