import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/test-database.ts'
import { isoTime } from './iso-time.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

it.each(['UTC', 'Asia/Kolkata', 'America/New_York'])(
  'any time, as a session in %s writes it',
  async (zone) => {
    const dates = fc.sample(
      fc.date({ min: new Date('1970-01-01'), max: new Date('+012000-01-01T00:00:00Z'), noInvalidDate: true }),
      500,
    )
    // With hundreds of microseconds, which a date of JavaScript has not: they are left out, not rounded.
    const texts = dates.map((date, index) => date.toISOString().replace(/Z$/, `${index}00000`.slice(0, 3)))
    const rows = await database.sql.begin(async (tx) => {
      await tx`select set_config('timezone', ${zone}, true)`
      return tx<{ text: string }[]>`
      select (given::timestamp at time zone 'utc')::text as text
      from unnest(${texts.map((text) => text.replace('+0', ''))}::text[]) with ordinality as t (given, n) order by n
    `
    })
    expect(rows.map(({ text }) => isoTime(text))).toEqual(dates.map((date) => date.toISOString()))
  },
)

it('whole seconds and tenths', () => {
  expect(isoTime('2026-11-16 15:22:51+00')).toBe('2026-11-16T15:22:51.000Z')
  expect(isoTime('2026-11-16 15:22:51.5+00')).toBe('2026-11-16T15:22:51.500Z')
  expect(isoTime('2026-11-16 15:22:51.123999+00')).toBe('2026-11-16T15:22:51.123Z')
})

it('what is no time is an error, not a date', () => {
  expect(() => isoTime('infinity')).toThrow()
})
