import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { canonicalHash } from './canonical-hash.ts'

/** The same value with the keys of every object the other way round. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, item]) => [key, reversed(item)]),
  )
}

describe('canonicalHash', () => {
  it('does not depend on the order of keys', () => {
    fc.assert(fc.property(fc.jsonValue(), (value) => canonicalHash(value) === canonicalHash(reversed(value))))
  })

  it.each<[unknown, unknown]>([
    [{ a: 1 }, { a: 2 }],
    [{ a: 1 }, { b: 1 }],
    [{ a: 1 }, { a: '1' }],
    [
      [1, 2],
      [2, 1],
    ],
    [{}, []],
    [{ a: {} }, { a: [] }],
    [{ a: 1 }, [['a', 1]]],
    [{ a: null }, {}],
  ])('tells %j from %j', (one, other) => {
    expect(canonicalHash(one)).not.toBe(canonicalHash(other))
  })
})
