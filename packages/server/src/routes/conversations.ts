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
import { weighConversation } from './weigh-conversation.ts'

export function conversationRoutes(context: AppContext) {
  const { sql, present, answers } = context
  return new Hono<AppEnv>()
    .get('/', async (c) => c.json(await listConversations(sql, c.get('identity').userId)))
    .post('/', async (c) => {
      const body = await readBody(c, createConversationBody)
      weighConversation(c)
      return c.json(await createConversation(context, c.get('identity').userId, body), 201)
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
      const { userId } = c.get('identity')
      return c.json(await markConversationRead(context, userId, readId(c, 'conversation')))
    })
}
