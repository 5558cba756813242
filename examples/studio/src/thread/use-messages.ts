import { createConversations, type TrackedTask } from '@holdfast/client'
import { useHoldfast } from '@holdfast/client/react'
import type { Message } from '@holdfast/shared'
import { useCallback, useEffect } from 'react'
import { useReconnected } from '../connection/use-reconnected.ts'
import { type Fetched, useFetched } from '../fetching/use-fetched.ts'
import { useMessagesCache } from './messages-cache.ts'

const NONE: Promise<Message[]> = Promise.resolve([])

/**
 * A conversation's messages, fetched again when one of its tasks has finished: the finish wrote a message.
 * Without a conversation there are none.
 */
export function useMessages(
  conversationId: string | null,
  tasks: readonly TrackedTask[],
): Fetched<Message[]> {
  const client = useHoldfast()
  const cache = useMessagesCache()
  const load = useCallback(async () => {
    if (!conversationId) return NONE
    const messages = await createConversations(client).messages(conversationId)
    cache.set(conversationId, messages)
    return messages
  }, [client, cache, conversationId])
  const fetched = useFetched(load, cache.get(conversationId ?? '') ?? null)
  const { reload } = fetched

  useReconnected(reload)
  // The version is part of it: a message that was saved late raises it, and is then worth asking for again.
  const finished = tasks
    .filter((task) => task.status === 'completed')
    .map((task) => `${task.id}.${task.version}`)
    .sort()
    .join()
  useEffect(() => {
    if (finished) reload()
  }, [finished, reload])
  return fetched
}
