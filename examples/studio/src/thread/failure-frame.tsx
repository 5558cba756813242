import './frame-note.css'
import type { Placeholder } from '@holdfast/client'
import { isTerminal } from '@holdfast/shared'
import { useCredits } from '../credits/credits-context.ts'
import { refundText } from '../credits/refund-text.ts'
import { Icon } from '../ui/icon.tsx'

export function FailureFrame({ placeholder }: { placeholder: Placeholder }) {
  const { state, failure, task } = placeholder
  const refund = refundText(useCredits(), task)
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
      {refund !== null && <p>{refund}</p>}
      {failure && <p className="code">{failure.code}</p>}
    </div>
  )
}
