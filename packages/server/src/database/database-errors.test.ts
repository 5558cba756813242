import { describe, expect, it } from 'vitest'
import { errorCode, isDatabaseAway, isTransient } from './database-errors.ts'

const withCode = (code: unknown) => Object.assign(new Error('x'), { code })

describe('what an error of the driver means', () => {
  it.each([
    'CONNECT_TIMEOUT',
    'CONNECTION_CLOSED',
    'ECONNREFUSED',
    'ECONNRESET',
    '57P01',
    '57P03',
    '53300',
    '08006',
  ])('%s: the database is away (P5)', (code) => {
    expect(isDatabaseAway(withCode(code))).toBe(true)
    expect(isTransient(withCode(code))).toBe(false)
  })

  it.each(['23505', '23514', '42501', '22P02', '40P01', 'UND_ERR_SOCKET'])('%s: it answered', (code) => {
    expect(isDatabaseAway(withCode(code))).toBe(false)
  })

  it.each(['40P01', '40001'])('%s: try the transaction again', (code) => {
    expect(isTransient(withCode(code))).toBe(true)
  })

  it.each([undefined, null, 'ECONNREFUSED', 5, {}, new Error('x'), withCode(5)])(
    '%s has no code',
    (thrown) => {
      expect(errorCode(thrown)).toBeUndefined()
      expect(isDatabaseAway(thrown)).toBe(false)
      expect(isTransient(thrown)).toBe(false)
    },
  )
})
