import type { Placeholder } from '@holdfast/client'
import { useHoldfast } from '@holdfast/client/react'
import { Icon } from '../ui/icon.tsx'
import { useAction } from './use-action.ts'

interface Props {
  placeholder: Placeholder
  describedBy: string
}

/** For what the server does not have yet: it is sent by itself, and can be taken back until then. */
export function UnsentActions({ placeholder, describedBy }: Props) {
  const client = useHoldfast()
  const { taskId, detail } = placeholder
  const resend = useAction(() => client.resend(taskId))
  const discard = useAction(() => client.discard(taskId))
  return (
    <>
      {detail === 'not-sent' && (
        <button
          type="button"
          className="button small"
          aria-describedby={describedBy}
          disabled={resend.isPending}
          onClick={resend.run}
        >
          <Icon name="retry" />
          Send again
        </button>
      )}
      <button
        type="button"
        className="button small"
        aria-describedby={describedBy}
        disabled={discard.isPending}
        onClick={discard.run}
      >
        <Icon name="close" />
        Discard
      </button>
    </>
  )
}
