/** "4 s", "1 min 05 s", "2 h 03 min": always the same width class, so that a ticking text does not dance. */
export function durationText(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000))
  if (seconds < 60) return `${seconds} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes} min ${pad(seconds % 60)} s`
  return `${Math.floor(minutes / 60)} h ${pad(minutes % 60)} min`
}

/**
 * What is left until an estimate. Rounded more coarsely the further away it is: an estimate that counts every
 * second of three minutes claims to know what it does not.
 */
export function remainingText(milliseconds: number): string {
  if (milliseconds <= -5_000) return 'longer than usual'
  const seconds = Math.ceil(milliseconds / 1000)
  if (seconds <= 1) return 'any moment now'
  if (seconds <= 20) return `about ${seconds} s left`
  if (seconds <= 90) return `about ${Math.ceil(seconds / 5) * 5} s left`
  return `about ${Math.round(seconds / 60)} min left`
}

/** "just now", "5 min ago", "3 h ago", then the day. */
export function agoText(at: number, now: number): string {
  const minutes = Math.floor((now - at) / 60_000)
  if (minutes < 1) return 'just now'
  if (minutes < 60) return `${minutes} min ago`
  const hours = Math.floor(minutes / 60)
  if (hours < 24) return `${hours} h ago`
  return new Date(at).toLocaleDateString('en', { day: 'numeric', month: 'short' })
}

const pad = (value: number) => String(value).padStart(2, '0')
