import './frame-note.css'
import type { Placeholder } from '@holdfast/client'
import { isTerminal } from '@holdfast/shared'
import { Icon } from '../ui/icon.tsx'

export function FailureFrame({ placeholder }: { placeholder: Placeholder }) {
  const { state, failure, task } = placeholder
  if (state === 'cancelled') {
    return (
      <div className="frame-note">
        <Icon name="stopped" />
        <p className="note-title">Cancelled</p>
        <p>Nothing more will come of it. You can start it again.</p>
      </div>
    )
  }
  return (
    <div className="frame-note bad">
      <Icon name="alert" />
      <p className="note-title">{isTerminal(task.status) ? 'This did not work' : 'Past its deadline'}</p>
      <p>{failure?.message ?? 'The provider gave no reason.'}</p>
      {failure && <p className="code">{failure.code}</p>}
    </div>
  )
}
