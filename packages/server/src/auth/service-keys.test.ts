import { expect, it } from 'vitest'
import { createServiceKeys } from './service-keys.ts'

const OLD = 'the-old-key-of-at-least-32-characters'
const NEW = 'the-new-key-of-at-least-32-characters'

it('takes any of the keys, so that they can be rotated', () => {
  const isServiceKey = createServiceKeys([OLD, NEW])
  expect([isServiceKey(OLD), isServiceKey(NEW)]).toEqual([true, true])
  expect(createServiceKeys([NEW])(OLD)).toBe(false)
})

it.each(['', 'x', OLD.slice(0, -1), `${OLD}x`, OLD.toUpperCase()])('does not take %j', (token) => {
  expect(createServiceKeys([OLD])(token)).toBe(false)
})

it('none is good where there is none', () => {
  expect(createServiceKeys([])('')).toBe(false)
})

it('refuses a key that could be guessed, and does not repeat it', () => {
  expect(() => createServiceKeys(['secret'])).toThrow('at least 32 characters')
  expect(() => createServiceKeys(['secret'])).not.toThrow(/secret/)
})
