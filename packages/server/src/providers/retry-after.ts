/** Longer waits than this are a misconfigured proxy, not advice. */
const LONGEST_MS = 24 * 60 * 60 * 1000

/** IMF-fixdate and the two older forms of RFC 9110 §5.6.7. `Date.parse` alone would also take "-5" or "1.5". */
const HTTP_DATE =
  /^(?:\w{3}, \d{2} \w{3} \d{4} [\d:]{8} GMT|\w{6,9}, \d{2}-\w{3}-\d{2} [\d:]{8} GMT|\w{3} \w{3} [ \d]\d [\d:]{8} \d{4})$/

/**
 * How long a `Retry-After` header asks to wait, in milliseconds; null if there is none that can be read. It comes
 * as seconds or as an HTTP date, and a date in the past means now.
 */
export function parseRetryAfter(value: string | null | undefined, now: number): number | null {
  const text = value?.trim() ?? ''
  if (/^\d+$/.test(text)) return Math.min(Number(text) * 1000, LONGEST_MS)
  if (!HTTP_DATE.test(text)) return null
  // The asctime form names no zone; HTTP dates are always GMT.
  const at = Date.parse(text.endsWith('GMT') ? text : `${text} GMT`)
  return Number.isNaN(at) ? null : Math.min(Math.max(at - now, 0), LONGEST_MS)
}
