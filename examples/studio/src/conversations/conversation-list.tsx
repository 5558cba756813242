import './conversation-list.css'
import { useRestoredTasks } from '@holdfast/client/react'
import { isTerminal } from '@holdfast/shared'
import { hrefOf, type Route } from '../route/route.ts'
import { ConversationLink } from './conversation-link.tsx'
import { useConversations } from './conversations-context.ts'

const unfiledFilter = { conversationId: null }

export function ConversationList({ route }: { route: Route }) {
  const { rows, isLoaded } = useConversations()
  const unfiled = useRestoredTasks(unfiledFilter)
  const isWaiting = !isLoaded && rows.length === 0
  return (
    <nav className="conversation-list" aria-label="Conversations" aria-busy={isWaiting}>
      {isWaiting && <ListSkeleton />}
      <ul>
        {rows.map((row) => (
          <li key={row.id}>
            <ConversationLink
              href={hrefOf({ at: 'conversation', conversationId: row.id })}
              isCurrent={route.at === 'conversation' && route.conversationId === row.id}
              {...row}
            />
          </li>
        ))}
        {unfiled.placeholders.length > 0 && (
          <li>
            <ConversationLink
              href={hrefOf({ at: 'unfiled' })}
              isCurrent={route.at === 'unfiled'}
              title="No conversation"
              unread={0}
              working={unfiled.tasks.filter((task) => !isTerminal(task.status)).length}
            />
          </li>
        )}
      </ul>
      {isLoaded && rows.length === 0 && unfiled.placeholders.length === 0 && (
        <p className="list-empty">Your conversations will be listed here.</p>
      )}
    </nav>
  )
}

function ListSkeleton() {
  return (
    <div className="list-skeleton" aria-hidden="true">
      <span className="skeleton" />
      <span className="skeleton" />
      <span className="skeleton" />
    </div>
  )
}
