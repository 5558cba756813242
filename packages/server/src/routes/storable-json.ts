import { HoldfastError } from '../errors.ts'

const MAX_DEPTH = 32
/** Checking them costs about 10 µs each: 256 kB of `[],[],…` would hold up everybody for half a second. */
const MAX_VALUES = 10_000

/**
 * Refuses JSON that PostgreSQL's jsonb cannot hold (U+0000, half surrogate pairs), that is nested so deep that
 * walking it could exhaust the stack, or that has so many values that checking them all would take long. Walks without
 * recursion for the same reason.
 */
export function assertStorableJson(root: unknown): void {
  const waiting: { value: unknown; depth: number }[] = [{ value: root, depth: 0 }]
  let values = 1
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const { value, depth } = next
    if (typeof value === 'string') assertStorableText(value)
    if (typeof value !== 'object' || value === null) continue
    if (depth === MAX_DEPTH)
      throw new HoldfastError('INVALID_REQUEST', `The body is nested more than ${MAX_DEPTH} levels deep.`)
    const entries = Object.entries(value)
    values += entries.length
    if (values > MAX_VALUES)
      throw new HoldfastError('INVALID_REQUEST', `The body has more than ${MAX_VALUES} values.`)
    for (const [key, item] of entries) {
      assertStorableText(key)
      waiting.push({ value: item, depth: depth + 1 })
    }
  }
}

function assertStorableText(text: string): void {
  if (text.includes('\u0000') || !text.isWellFormed()) {
    throw new HoldfastError(
      'INVALID_REQUEST',
      'The body contains a character that cannot be stored (U+0000 or half a surrogate pair).',
    )
  }
}
