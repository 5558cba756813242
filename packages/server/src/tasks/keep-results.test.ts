import { expect, it } from 'vitest'
import { keepByPlan } from './keep-results.ts'

const DAY_MS = 24 * 60 * 60_000

it.each([
  [null, 3],
  ['free', 3],
  ['pro', 30],
  ['enterprise', 30],
])('with the plan %s files are kept for %d days (O5)', async (plan, days) => {
  expect(await keepByPlan({ userId: 'ada', type: 'image', plan })).toBe(days * DAY_MS)
})
