import type { Credits } from '@holdfast/client'
import { expect, it } from 'vitest'
import { refundText } from './refund-text.ts'

const credits = (kind: 'refund' | 'hold' | 'capture', amount: number, taskId = 't'): Credits => ({
  enabled: true,
  balance: 10,
  held: 0,
  prices: {},
  ledger: [{ id: 'e', kind, amount, released: 0, taskId, createdAt: '2026-11-16T08:00:00Z' }],
  nextCursor: null,
})

it('says how many credits came back (F13)', () => {
  expect(refundText(credits('refund', 4), { id: 't' })).toBe('4 credits are back.')
  expect(refundText(credits('refund', 1), { id: 't' })).toBe('1 credit is back.')
})

it('says nothing of what did not come back, of other tasks, and where nothing is charged', () => {
  expect(refundText(credits('capture', 4), { id: 't' })).toBeNull()
  expect(refundText(credits('hold', 4), { id: 't' })).toBeNull()
  expect(refundText(credits('refund', 0), { id: 't' })).toBeNull()
  expect(refundText(credits('refund', 4, 'other'), { id: 't' })).toBeNull()
  expect(refundText(null, { id: 't' })).toBeNull()
})
