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

export function conversationRoutes({ sql, bus, present, answers }: AppContext) {
  return new Hono<AppEnv>()
    .get('/', async (c) => c.json(await listConversations(sql, c.get('identity').userId)))
    .post('/', async (c) => {
      const body = await readBody(c, createConversationBody)
      weighConversation(c)
      const { userId } = c.get('identity')
      const { conversation, created } = await createConversation(sql, userId, body)
      if (created) bus.publish(userId)
      return c.json({ conversation }, 201)
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
      const { changed, ...read } = await markConversationRead(sql, userId, readId(c, 'conversation'))
      if (changed) bus.publish(userId)
      return c.json(read)
    })
}
