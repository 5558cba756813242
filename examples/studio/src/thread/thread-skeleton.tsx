import './card.css'

export function ThreadSkeleton() {
  return (
    <div className="thread" role="status" aria-label="Loading the conversation">
      {['first', 'second'].map((key) => (
        <div key={key} className="card skeleton-card" aria-hidden="true">
          <div className="frame skeleton" />
          <div className="card-body">
            <span className="skeleton line" />
            <span className="skeleton line short" />
          </div>
        </div>
      ))}
    </div>
  )
}
