import type { TaskProgress } from './task-progress.ts'

interface Props {
  progress: TaskProgress
  labelledBy: string
}

export function ProgressBar({ progress, labelledBy }: Props) {
  const percent = progress.kind === 'unknown' ? null : progress.percent
  return (
    <div
      className="progress"
      role="progressbar"
      aria-labelledby={labelledBy}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={percent ?? undefined}
      aria-valuetext={
        percent === null
          ? 'under way'
          : `${percent} per cent${progress.kind === 'estimated' ? ', estimated' : ''}`
      }
      data-kind={progress.kind}
    >
      <span className="progress-fill" style={percent === null ? undefined : { '--done': percent / 100 }} />
    </div>
  )
}
