import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseRetryAfter } from './retry-after.ts'

const now = Date.parse('2026-11-16T08:00:00Z')

test.each([
  ['0', 0],
  ['7', 7_000],
  [' 120 ', 120_000],
  ['Mon, 16 Nov 2026 08:00:30 GMT', 30_000],
  ['Monday, 16-Nov-26 08:00:30 GMT', 30_000],
  ['Mon Nov 16 08:00:30 2026', 30_000],
  ['Mon, 16 Nov 2026 07:00:00 GMT', 0],
  ['99999999999999999999', 86_400_000],
  ['Fri, 31 Dec 9999 23:59:59 GMT', 86_400_000],
])('P2 Retry-After %j asks to wait %i ms', (value, wait) => {
  expect(parseRetryAfter(value, now)).toBe(wait)
})

test.each([null, undefined, '', '-5', '1.5', 'soon', '2026-11-16', 'Mon, 99 Foo 2026 08:00:00 GMT'])(
  'P2 Retry-After %j says nothing',
  (value) => {
    expect(parseRetryAfter(value, now)).toBeNull()
  },
)

test('P2 any text yields null or a wait between now and a day', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      const wait = parseRetryAfter(text, now)
      expect(wait === null || (wait >= 0 && wait <= 86_400_000)).toBe(true)
    }),
  )
})
