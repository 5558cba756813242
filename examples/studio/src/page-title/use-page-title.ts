import { isTerminal } from '@holdfast/shared'
import { useEffect } from 'react'
import { useClientState } from '../connection/use-client-state.ts'
import { pageTitle } from './page-title.ts'

export function usePageTitle(): void {
  const unread = useClientState((state) => state.unreadConversations ?? 0)
  const working = useClientState(
    (state) => Object.values(state.tasks).filter((task) => !isTerminal(task.status)).length,
  )
  useEffect(() => {
    document.title = pageTitle({ unread, working })
    return () => {
      document.title = pageTitle({ unread: 0, working: 0 })
    }
  }, [unread, working])
}
