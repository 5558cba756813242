import { createConversations, type TrackedTask } from '@holdfast/client'
import { useHoldfast } from '@holdfast/client/react'
import type { Message } from '@holdfast/shared'
import { useCallback, useEffect } from 'react'
import { useClientState } from '../connection/use-client-state.ts'
import { useReconnected } from '../connection/use-reconnected.ts'
import { type Fetched, useFetched } from '../fetching/use-fetched.ts'
import { useMessagesCache } from './messages-cache.ts'

const NONE: Promise<Message[]> = Promise.resolve([])

/**
 * A conversation's messages, fetched again when one of its tasks has finished: the finish wrote a message.
 * Without a conversation there are none, nor in one that is made with the first of its tasks, which is not sent yet.
 */
export function useMessages(
  conversationId: string | null,
  tasks: readonly TrackedTask[],
): Fetched<Message[]> {
  const client = useHoldfast()
  const cache = useMessagesCache()
  const isMade = useClientState(
    ({ conversations, unsent }) =>
      (conversationId ?? '') in conversations ||
      !Object.values(unsent).some((task) => task.conversationId === conversationId && !task.failure),
  )
  const load = useCallback(async () => {
    if (!conversationId || !isMade) return NONE
    const messages = await createConversations(client).messages(conversationId)
    cache.set(conversationId, messages)
    return messages
  }, [client, cache, conversationId, isMade])
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
