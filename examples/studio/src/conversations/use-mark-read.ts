import { useEffect } from 'react'
import { useDocumentVisible } from '../ui/use-document-visible.ts'
import { useConversations } from './conversations-context.ts'

/** Marks a conversation as read while its messages are on screen and someone can see the screen. */
export function useMarkRead(conversationId: string | null, isShown: boolean): void {
  const { rows, markRead } = useConversations()
  const isVisible = useDocumentVisible()
  const unread = rows.find((row) => row.id === conversationId)?.unread ?? 0
  useEffect(() => {
    if (conversationId && isShown && isVisible && unread > 0) markRead(conversationId)
  }, [conversationId, isShown, isVisible, unread, markRead])
}
