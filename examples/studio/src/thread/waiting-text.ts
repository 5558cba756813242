import type { Placeholder, Waiting } from '@holdfast/client'
import { durationText } from '../time/time-text.ts'

const REASONS: Partial<Record<Waiting['reason'], string>> = {
  NETWORK: 'no connection',
  RATE_LIMITED: 'too many at once',
  UNAVAILABLE: 'the service is busy',
  UNAUTHENTICATED: 'not signed in',
}

/** What a placeholder waits for, in a few words. `now` is the server's. */
export function waitingText({ detail, waiting }: Placeholder, now: number): string | null {
  if (detail === 'waiting') return 'for its turn'
  if (detail !== 'unsent') return null
  if (!waiting) return 'to be sent'
  const left = Date.parse(waiting.retryAt) - now
  const reason = REASONS[waiting.reason] ?? waiting.message
  // Less than that is over before it is read.
  return left < 2_000 ? `to be sent: ${reason}` : `to be sent: ${reason}, again in ${durationText(left)}`
}
