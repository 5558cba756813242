import { expect, it } from 'vitest'
import { PROBLEMS } from './problem.ts'

it.each(Object.entries(PROBLEMS))('%s is an error status with a title', (code, { status, title }) => {
  expect(code).toMatch(/^[A-Z]+(_[A-Z]+)*$/)
  expect(status).toBeGreaterThanOrEqual(400)
  expect(status).toBeLessThan(600)
  expect(title).not.toBe('')
})
