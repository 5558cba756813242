import './away-banner.css'
import { useConnection, useHoldfast } from '@holdfast/client/react'
import { useLasting } from '../ui/use-lasting.ts'

/** Short gaps (a restart, a change of network) heal by themselves before anyone needs to read about them. */
const WORTH_TELLING = 1500

export function AwayBanner() {
  const client = useHoldfast()
  const { connection } = useConnection()
  const isAway = useLasting(connection === 'offline', WORTH_TELLING)
  return (
    <div role="status" aria-live="polite">
      {isAway && (
        <div className="away-banner">
          <p>
            <strong>The server is out of reach.</strong> You see this browser’s copy. What was already
            accepted goes on without us and shows up here as soon as the server answers; we keep trying.
          </p>
          <button
            type="button"
            className="button small"
            onClick={() => {
              client.refresh().catch(() => {
                // Still away: the banner stays and says so.
              })
            }}
          >
            Try now
          </button>
        </div>
      )}
    </div>
  )
}
