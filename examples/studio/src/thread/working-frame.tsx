import './working-frame.css'
import type { Placeholder } from '@holdfast/client'
import { remainingText } from '../time/time-text.ts'
import { ProgressBar } from './progress-bar.tsx'
import { taskProgress } from './task-progress.ts'
import { waitingText } from './waiting-text.ts'

interface Props {
  placeholder: Placeholder
  now: number
  labelledBy: string
}

export function WorkingFrame({ placeholder, now, labelledBy }: Props) {
  const { task, state, stale } = placeholder
  const progress = taskProgress(task, now)
  const remaining = task.estimatedAt ? remainingText(Date.parse(task.estimatedAt) - now) : null
  return (
    <div className="working">
      <span className="shimmer" aria-hidden="true" />
      {stale && <p className="stale-note">From local copy, reconnecting…</p>}
      <div className="working-figures">
        {progress.kind === 'unknown' ? (
          <p className="percent in-words">{state === 'waiting' ? 'Waiting' : 'Working'}</p>
        ) : (
          <p className="percent">
            {progress.kind === 'estimated' && <span className="approximately">~</span>}
            {progress.percent}
            <span className="unit">%</span>
          </p>
        )}
        <p className="remaining">
          {progress.kind === 'estimated' && <span className="estimate-label">estimate</span>}
          {remaining ?? waitingText(placeholder, now) ?? 'no estimate yet'}
        </p>
      </div>
      <ProgressBar progress={progress} labelledBy={labelledBy} />
    </div>
  )
}
