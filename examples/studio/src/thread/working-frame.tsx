import './working-frame.css'
import type { Placeholder } from '@holdfast/client'
import { remainingText } from '../time/time-text.ts'
import { ProgressBar } from './progress-bar.tsx'
import { taskProgress } from './task-progress.ts'

const WAITING_FOR: Partial<Record<Placeholder['detail'], string>> = {
  unsent: 'to be sent',
  waiting: 'for its turn',
}

interface Props {
  placeholder: Placeholder
  now: number
  labelledBy: string
}

export function WorkingFrame({ placeholder, now, labelledBy }: Props) {
  const { task, state, stale, detail } = placeholder
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
          {remaining ?? WAITING_FOR[detail] ?? 'no estimate yet'}
        </p>
      </div>
      <ProgressBar progress={progress} labelledBy={labelledBy} />
    </div>
  )
}
