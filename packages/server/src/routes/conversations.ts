import { createConversationBody, listMessagesQuery } from '@holdfast/shared/schemas'
import { Hono } from 'hono'
import {
  createConversation,
  listConversations,
  markConversationRead,
} from '../plugins/conversations/conversations.ts'
import { listMessages } from '../plugins/conversations/messages.ts'
import type { AppContext, AppEnv } from './app-context.ts'
import { readBody, readId, readQuery } from './read-input.ts'

/** As rare as new tasks. Nothing removes them, so a user could fill the database with them. */
const REQUESTS_OF_A_CONVERSATION = 10

export function conversationRoutes({ sql, present, answers }: AppContext) {
  return new Hono<AppEnv>()
    .get('/', async (c) => c.json(await listConversations(sql, c.get('identity').userId)))
    .post('/', async (c) => {
      const body = await readBody(c, createConversationBody)
      c.get('weigh')?.(REQUESTS_OF_A_CONVERSATION - 1)
      return c.json({ conversation: await createConversation(sql, c.get('identity').userId, body) }, 201)
    })
    .get('/:id/messages', async (c) => {
      const { userId } = c.get('identity')
      const conversationId = readId(c, 'conversation')
      const page = await listMessages(
        sql,
        { userId, conversationId, ...readQuery(c, listMessagesQuery) },
        present,
      )
      answers.assertRead(userId)
      return c.json(page)
    })
    .post('/:id/read', async (c) => {
      const conversation = await markConversationRead(
        sql,
        c.get('identity').userId,
        readId(c, 'conversation'),
      )
      return c.json({ conversation })
    })
}
