import { HoldfastError } from '../../errors.ts'
import type { Plugin } from '../plugin.ts'
import { lockConversations, writeMessages } from './write-messages.ts'

/** Tasks may belong to a conversation of their user, and leave a message there when they complete. */
export const conversationsPlugin: Plugin = {
  name: 'conversations',
  // That there is one, and whose it is, is looked at with every task.
  joinsSubmit: ({ conversation }) => conversation !== undefined,
  joinsSettle: ({ conversationId }) => conversationId !== null,
  async beforeSubmit(tx, { userId, conversationId, conversation }) {
    if (conversationId === null) return
    // Sent together, and done in this order. Two submits that make the same conversation wait for each other here.
    const [, [own]] = await Promise.all([
      conversation &&
        tx`
          insert into holdfast.conversations (id, user_id, title)
          values (${conversation.id}, ${userId}, ${conversation.title})
          on conflict (id) do nothing
        `,
      // Kept from being removed until the task that refers to it is there.
      tx`
        select from holdfast.conversations where id = ${conversationId} and user_id = ${userId} for key share
      `,
    ])
    if (!own) throw new HoldfastError('NOT_FOUND', 'There is no such conversation.')
  },
  async onSettled(tx, task) {
    if (task.status === 'completed') await writeMessages(tx, [task])
  },
  async onSettledMany(tx, ends) {
    await writeMessages(
      tx,
      ends.map(({ task }) => task).filter(({ status }) => status === 'completed'),
    )
  },
  lockMany: lockConversations,
}

/** In its place where conversations are switched off. What was begun in one before can still be retried. */
export const noConversationsPlugin: Plugin = {
  name: 'no-conversations',
  joinsSubmit: ({ conversationId }) => conversationId !== null,
  async beforeSubmit(_, { conversationId, conversation, retryOf }) {
    if (conversationId !== null && retryOf === null) {
      const field = conversation ? 'conversation' : 'conversationId'
      throw new HoldfastError(
        'INVALID_REQUEST',
        `${field}: this server keeps no conversations. Leave it out; metadata can carry an id of your own.`,
      )
    }
  },
}
