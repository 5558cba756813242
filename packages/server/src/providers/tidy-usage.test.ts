import { expect, it } from 'vitest'
import { tidyUsage } from './tidy-usage.ts'

it('keeps numbers and short texts, and nothing that could not be stored', () => {
  expect(
    tidyUsage({
      seconds: 8.5,
      unit: 'credits',
      nan: Number.NaN,
      nested: { a: 1 },
      list: [1],
      nul: 'a\u0000b',
      half: '\ud800',
      long: 'x'.repeat(201),
      nothing: null,
    }),
  ).toEqual({ seconds: 8.5, unit: 'credits' })
})

it.each([[undefined], [null], ['8'], [8], [[1, 2]], [{}], [{ a: {} }]])('makes nothing of %j', (usage) => {
  expect(tidyUsage(usage)).toBeUndefined()
})

it('keeps thirty entries at most', () => {
  const many = Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`n${n}`, n]))
  expect(Object.keys(tidyUsage(many) ?? {})).toHaveLength(30)
})
