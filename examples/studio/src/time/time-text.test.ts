import { expect, test } from 'vitest'
import { agoText, durationText, remainingText } from './time-text.ts'

test.each([
  [-400, '0 s'],
  [0, '0 s'],
  [59_999, '59 s'],
  [65_000, '1 min 05 s'],
  [7_380_000, '2 h 03 min'],
])('a duration of %i ms reads "%s"', (milliseconds, text) => {
  expect(durationText(milliseconds)).toBe(text)
})

test.each([
  [180_000, 'about 3 min left'],
  [41_000, 'about 45 s left'],
  [11_200, 'about 12 s left'],
  [900, 'any moment now'],
  [-4_000, 'any moment now'],
  [-5_000, 'longer than usual'],
])('%i ms before the estimate it says "%s"', (milliseconds, text) => {
  expect(remainingText(milliseconds)).toBe(text)
})

test.each([
  [30_000, 'just now'],
  [5 * 60_000, '5 min ago'],
  [3 * 3_600_000, '3 h ago'],
])('%i ms ago reads "%s"', (age, text) => {
  const now = Date.UTC(2026, 4, 12, 12)
  expect(agoText(now - age, now)).toBe(text)
})

test('more than a day ago is named by its day', () => {
  expect(agoText(Date.UTC(2026, 4, 2, 12), Date.UTC(2026, 4, 12, 12))).toBe('May 2')
})
