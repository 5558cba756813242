import type { Placeholder } from '@holdfast/client'
import { useHoldfast } from '@holdfast/client/react'
import { isTerminal } from '@holdfast/shared'
import { Icon } from '../ui/icon.tsx'
import { useAction } from './use-action.ts'

interface Props {
  placeholder: Placeholder
  describedBy: string
}

/** Cancel while it goes on, retry once it has ended. */
export function TaskActions({ placeholder, describedBy }: Props) {
  const client = useHoldfast()
  const { task, failure, state } = placeholder
  const cancel = useAction(() => client.cancel(task.id))
  const retry = useAction(() => client.retry(task.id))
  const check = useAction(() => client.refresh())
  const error = cancel.error ?? retry.error ?? check.error

  return (
    <>
      {error && (
        <p className="action-error" role="alert">
          {error}
        </p>
      )}
      {isTerminal(task.status) ? (
        <button
          type="button"
          className="button small"
          aria-describedby={describedBy}
          disabled={retry.isPending}
          onClick={retry.run}
        >
          <Icon name="retry" />
          {failure && !failure.retryable ? 'Retry anyway' : 'Retry'}
        </button>
      ) : (
        <>
          {state === 'failed' && (
            <button type="button" className="button small" disabled={check.isPending} onClick={check.run}>
              <Icon name="retry" />
              Ask again
            </button>
          )}
          <button
            type="button"
            className="button small"
            aria-describedby={describedBy}
            disabled={cancel.isPending}
            onClick={cancel.run}
          >
            <Icon name="close" />
            {cancel.isPending ? 'Cancelling…' : 'Cancel'}
          </button>
        </>
      )}
    </>
  )
}
