import { HoldfastError } from '../errors.ts'

const MAX_DEPTH = 32
/** Checking them costs about 10 µs each: 256 kB of `[],[],…` would hold up everybody for half a second. */
export const MAX_VALUES = 10_000

/**
 * Refuses JSON that PostgreSQL's jsonb cannot hold (U+0000, half surrogate pairs), that is nested so deep that
 * walking it could exhaust the stack, or that has so many values that checking them all would take long. Walks without
 * recursion for the same reason. Returns how many there are.
 */
export function assertStorableJson(root: unknown): number {
  const waiting: { value: unknown; depth: number }[] = [{ value: root, depth: 0 }]
  let values = 1
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const { value, depth } = next
    if (typeof value === 'string') assertStorableText(value)
    if (typeof value !== 'object' || value === null) continue
    if (depth === MAX_DEPTH)
      throw new HoldfastError('INVALID_REQUEST', `The body is nested more than ${MAX_DEPTH} levels deep.`)
    // Counted before they are taken out, which takes longer.
    values += Array.isArray(value) ? value.length : Object.keys(value).length
    if (values > MAX_VALUES)
      throw new HoldfastError('INVALID_REQUEST', `The body has more than ${MAX_VALUES} values.`)
    for (const [key, item] of Object.entries(value)) {
      assertStorableText(key)
      waiting.push({ value: item, depth: depth + 1 })
    }
  }
  return values
}

function assertStorableText(text: string): void {
  if (text.includes('\u0000') || !text.isWellFormed()) {
    throw new HoldfastError(
      'INVALID_REQUEST',
      'The body contains a character that cannot be stored (U+0000 or half a surrogate pair).',
    )
  }
}
