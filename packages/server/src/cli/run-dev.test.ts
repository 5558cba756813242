import { expect, test } from 'vitest'
import { readCreditSettings } from '../credit-settings.ts'
import { priceTypes } from './price-types.ts'
import { demoCredits } from './run-dev.ts'

test.each([
  [{}, { initial: 1_000, prices: { image: 4, video: 20 } }],
  [{ CREDITS_INITIAL: '50' }, { initial: 50, prices: { image: 4, video: 20 } }],
  [{ CREDIT_PRICES: 'image=1' }, { initial: 0, prices: { image: 1 } }],
  [
    { CREDIT_PRICES: 'image=1', CREDITS_INITIAL: '50' },
    { initial: 50, prices: { image: 1 } },
  ],
])('in development, %j gives %j', (env, credits) => {
  expect(demoCredits(readCreditSettings(env))).toEqual(credits)
})

test('elsewhere credits without prices are refused', () => {
  const settings = readCreditSettings({ CREDITS_INITIAL: '50' })
  expect(() => priceTypes({}, settings)).toThrow('set CREDIT_PRICES as well')
})
