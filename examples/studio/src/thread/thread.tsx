import './thread.css'
import { mergeThread } from '@holdfast/client'
import { useRestoredTasks } from '@holdfast/client/react'
import { useMemo } from 'react'
import { useMarkRead } from '../conversations/use-mark-read.ts'
import { EntryCard } from './entry-card.tsx'
import { ThreadProblem } from './thread-problem.tsx'
import { ThreadSkeleton } from './thread-skeleton.tsx'
import { ThreadWelcome } from './thread-welcome.tsx'
import { useFollowNewest } from './use-follow-newest.ts'
import { useMessages } from './use-messages.ts'

/** Null: the generations that belong to no conversation. */
export function Thread({ conversationId }: { conversationId: string | null }) {
  const filter = useMemo(() => ({ conversationId }), [conversationId])
  const { tasks, placeholders, restore } = useRestoredTasks(filter)
  const { data: messages, error, reload } = useMessages(conversationId, tasks)
  const entries = useMemo(() => mergeThread(messages ?? [], placeholders), [messages, placeholders])
  useMarkRead(conversationId, messages !== null)
  const end = useFollowNewest(entries)

  if (entries.length === 0) {
    if (error) return <ThreadProblem error={error} onRetry={reload} />
    const isWaiting = messages === null || restore === 'loading'
    return isWaiting ? <ThreadSkeleton /> : <ThreadWelcome />
  }
  return (
    <>
      <ol className="thread" aria-label="Generations, oldest first">
        {entries.map((entry) => (
          <li key={entry.key}>
            <EntryCard entry={entry} onBrokenFile={reload} />
          </li>
        ))}
      </ol>
      <div ref={end} />
    </>
  )
}
