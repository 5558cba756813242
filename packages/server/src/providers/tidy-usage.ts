import type { Usage } from './provider.ts'

const MOST_ENTRIES = 30
const LONGEST_TEXT = 200

/** What can be kept of a reported usage: an adapter may hand on whatever its vendor said. Undefined if nothing can. */
export function tidyUsage(usage: unknown): Usage | undefined {
  if (typeof usage !== 'object' || usage === null || Array.isArray(usage)) return undefined
  const kept = Object.entries(usage)
    .filter(([name, value]) => isText(name) && (isText(value) || Number.isFinite(value)))
    .slice(0, MOST_ENTRIES)
  return kept.length > 0 ? Object.fromEntries(kept) : undefined
}

/** PostgreSQL's jsonb holds neither U+0000 nor half a pair of surrogates. */
function isText(value: unknown): boolean {
  return (
    typeof value === 'string' &&
    value.length <= LONGEST_TEXT &&
    !value.includes('\u0000') &&
    value.isWellFormed()
  )
}
