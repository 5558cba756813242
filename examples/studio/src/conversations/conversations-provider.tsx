import { createConversations } from '@holdfast/client'
import { useHoldfast, useRestoredTasks } from '@holdfast/client/react'
import { type ReactNode, useCallback, useEffect, useMemo } from 'react'
import { useReconnected } from '../connection/use-reconnected.ts'
import { useFetched } from '../fetching/use-fetched.ts'
import { useDocumentVisible } from '../ui/use-document-visible.ts'
import { conversationRows } from './conversation-rows.ts'
import { type Conversations, ConversationsContext } from './conversations-context.ts'

/** Keeps one list of conversations for the page, and asks for it anew when something may have changed it. */
export function ConversationsProvider({ children }: { children: ReactNode }) {
  const client = useHoldfast()
  const { tasks } = useRestoredTasks()
  const isVisible = useDocumentVisible()
  const conversations = useMemo(() => createConversations(client), [client])
  const { data, error, reload, setData } = useFetched(conversations.list)

  useReconnected(reload)
  useEffect(() => client.on('settled', reload), [client, reload])
  useEffect(() => {
    // Another tab or device may have read, written or created some while nobody looked.
    if (isVisible) reload()
  }, [isVisible, reload])

  const listed = useMemo(() => new Set(data?.map((conversation) => conversation.id)), [data])
  const unlisted = tasks.filter((task) => task.conversationId && !listed.has(task.conversationId))
  const unlistedIds = [...new Set(unlisted.map((task) => task.conversationId))].join()
  useEffect(() => {
    if (unlistedIds) reload()
  }, [unlistedIds, reload])

  const create = useCallback(
    async (input: { id: string; title: string }) => {
      const conversation = await conversations.create(input)
      setData((list) => [conversation, ...(list ?? []).filter((other) => other.id !== conversation.id)])
      return conversation
    },
    [conversations, setData],
  )
  const markRead = useCallback(
    (id: string) => {
      setData((list) => list?.map((item) => (item.id === id ? { ...item, unread: 0 } : item)) ?? null)
      conversations.markRead(id).catch(() => {
        // Did not get through: the server's next list still says unread, and then it is marked again.
      })
    },
    [conversations, setData],
  )

  const rows = useMemo(() => conversationRows(data, tasks), [data, tasks])
  const isLoaded = data !== null
  const value = useMemo<Conversations>(
    () => ({ rows, isLoaded, error, create, markRead, reload }),
    [rows, isLoaded, error, create, markRead, reload],
  )
  return <ConversationsContext value={value}>{children}</ConversationsContext>
}
