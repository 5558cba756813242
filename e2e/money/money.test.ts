import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ATTEMPTS } from '../../bench/money/attempts.ts'
import { judgeAttempt } from '../../bench/money/judge-attempt.ts'
import { type MoneyLab, openMoneyLab } from '../../bench/money/money-lab.ts'

/** With a table of what each cost, it is `npm run proof -- money`. */
let lab: MoneyLab
beforeAll(async () => {
  lab = await openMoneyLab()
}, 60_000)
afterAll(() => lab?.close(), 60_000)

describe('a user who wants work for nothing', () => {
  it.each(ATTEMPTS)('$name', async (attempt) => {
    const { leaks, overcharged, broken } = await judgeAttempt(lab, attempt)
    expect({ leaks, overcharged, broken }, lab.said()).toEqual({ leaks: [], overcharged: [], broken: null })
  })
})
