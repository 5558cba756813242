import './credits-badge.css'
import { useCredits } from './credits-context.ts'

/** What is left to spend; nothing where nothing is charged. */
export function CreditsBadge() {
  const credits = useCredits()
  if (!credits) return null
  const { balance, held } = credits
  return (
    <p
      className="credits-badge"
      role="status"
      title={held > 0 ? `${held} more are held for what is being made` : undefined}
    >
      <strong>{balance.toLocaleString()}</strong> {balance === 1 ? 'credit' : 'credits'}
      {held > 0 && <span className="credits-held"> + {held.toLocaleString()} held</span>}
    </p>
  )
}
