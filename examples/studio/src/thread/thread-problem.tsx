import { HoldfastError } from '@holdfast/client'
import { hrefOf } from '../route/route.ts'
import { Icon } from '../ui/icon.tsx'

/** When there is nothing to show because asking for it did not work. */
export function ThreadProblem({ error, onRetry }: { error: unknown; onRetry(): void }) {
  const isMissing = error instanceof HoldfastError && error.status !== null && error.status < 500
  return (
    <div className="thread-note" role="alert">
      <Icon name="alert" />
      <h2>{isMissing ? 'This conversation is not here' : 'The conversation could not be loaded'}</h2>
      <p>
        {isMissing
          ? 'It may belong to someone else, or it is gone.'
          : 'The server does not answer. We keep trying; generations already accepted go on without this page.'}
      </p>
      {isMissing ? (
        <a className="button" href={hrefOf({ at: 'new' })}>
          New conversation
        </a>
      ) : (
        <button type="button" className="button" onClick={onRetry}>
          <Icon name="retry" />
          Try now
        </button>
      )}
    </div>
  )
}
