import './card.css'
import type { ThreadEntry } from '@holdfast/client'
import { useId } from 'react'
import { FinishedCard } from './finished-card.tsx'
import { UnfinishedCard } from './unfinished-card.tsx'
import { useKeepFocus } from './use-keep-focus.ts'

interface Props {
  entry: ThreadEntry
  /** A file's address no longer works: fetch the message again, which signs a new one. */
  onBrokenFile(): void
}

/** One place in the thread: a finished piece, or what stands where it will be. */
export function EntryCard({ entry, onBrokenFile }: Props) {
  const headingId = useId()
  const { task, outputs } = entry
  const message = entry.kind === 'message' ? entry.message : null
  const look = entry.kind === 'placeholder' ? entry.placeholder.state : 'done'
  const focusKeeper = useKeepFocus(look)
  return (
    <article
      {...focusKeeper}
      className="card"
      aria-labelledby={headingId}
      data-look={look}
      data-task-id={task?.id ?? message?.taskId ?? undefined}
      data-message-id={message?.id}
      data-status={task?.status ?? 'completed'}
      data-origin={task?.origin}
      data-stale={task?.stale ?? false}
    >
      {entry.kind === 'placeholder' && look !== 'done' ? (
        <UnfinishedCard placeholder={entry.placeholder} headingId={headingId} />
      ) : (
        <FinishedCard
          message={message}
          task={task}
          outputs={outputs}
          headingId={headingId}
          onBrokenFile={onBrokenFile}
        />
      )}
    </article>
  )
}
