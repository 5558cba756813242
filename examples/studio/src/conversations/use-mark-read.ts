import { createConversations } from '@holdfast/client'
import { useConnection, useHoldfast } from '@holdfast/client/react'
import { useEffect } from 'react'
import { useClientState } from '../connection/use-client-state.ts'
import { useDocumentVisible } from '../ui/use-document-visible.ts'

/** Marks a conversation as read while its messages are on screen and someone can see the screen. */
export function useMarkRead(conversationId: string | null, isShown: boolean): void {
  const client = useHoldfast()
  const { connection } = useConnection()
  const isVisible = useDocumentVisible()
  const unread = useClientState((state) => state.conversations[conversationId ?? '']?.unread ?? 0)
  // The connection is looked at only to try again when it is back.
  // biome-ignore lint/correctness/useExhaustiveDependencies: see above.
  useEffect(() => {
    if (!conversationId || !isShown || !isVisible || unread === 0) return
    createConversations(client)
      .markRead(conversationId)
      .catch(() => {
        // Did not get through: it stays unread, here and everywhere.
      })
  }, [client, conversationId, isShown, isVisible, unread, connection])
}
