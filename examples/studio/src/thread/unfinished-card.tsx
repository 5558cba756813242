import type { Placeholder } from '@holdfast/client'
import { isTerminal } from '@holdfast/shared'
import { typeLabel } from '../prompt/generation-types.ts'
import { promptOf } from '../prompt/prompt-of.ts'
import { durationText } from '../time/time-text.ts'
import { useServerNow } from '../time/use-server-now.ts'
import { CardContent } from './card-content.tsx'
import { FailureFrame } from './failure-frame.tsx'
import { ORIGIN_TEXT } from './origin-text.ts'
import { TaskActions } from './task-actions.tsx'
import { UnsentActions } from './unsent-actions.tsx'
import { WorkingFrame } from './working-frame.tsx'

/** What stands where the message will be: the work going on, or why there will be none. */
export function UnfinishedCard({ placeholder, headingId }: { placeholder: Placeholder; headingId: string }) {
  const { task, state } = placeholder
  const now = useServerNow(!isTerminal(task.status))
  const prompt = promptOf(task.params)
  const until = task.finishedAt ? Date.parse(task.finishedAt) : now
  const isActive = state === 'waiting' || state === 'working'
  return (
    <CardContent
      headingId={headingId}
      prompt={prompt}
      meta={
        <>
          <span>{typeLabel(task.type)}</span>
          <span>
            {isActive ? '' : 'after '}
            {durationText(until - Date.parse(task.createdAt))}
          </span>
          <span>{ORIGIN_TEXT[placeholder.origin]}</span>
        </>
      }
      actions={
        task.unsent ? (
          <UnsentActions placeholder={placeholder} describedBy={headingId} />
        ) : (
          <TaskActions placeholder={placeholder} describedBy={headingId} />
        )
      }
    >
      {isActive ? (
        <WorkingFrame placeholder={placeholder} now={now} labelledBy={headingId} />
      ) : (
        <FailureFrame placeholder={placeholder} />
      )}
    </CardContent>
  )
}
