import { describe, expect, it } from 'vitest'
import { bytesOf, shownParams } from './shown-params.ts'

const long = (letter: string, count: number) => letter.repeat(count)

describe('what lists carry of parameters', () => {
  it('is all of them, as a rule', () => {
    expect(shownParams({ prompt: long('x', 4_000) }, {})).toBeNull()
    expect(shownParams({}, { note: long('x', 4_000) })).toBeNull()
  })

  it('above 4 kB: their texts in short, and all that is short anyway', () => {
    const params = {
      prompt: long('x', 5_000),
      seed: 7,
      style: { name: 'oil', notes: long('y', 600) },
      tags: ['a'],
    }
    expect(shownParams(params, {})).toEqual({
      prompt: long('x', 500),
      seed: 7,
      style: { name: 'oil', notes: long('y', 500) },
      tags: ['a'],
    })
  })

  it('together with large metadata, too', () => {
    const metadata = { note: long('x', 4_000) }
    expect(shownParams({ prompt: long('x', 1_000) }, metadata)).toBeNull()
    expect(shownParams({ prompt: long('x', 2_000) }, metadata)).toEqual({ prompt: long('x', 500) })
  })

  it.each<[string, Record<string, unknown>]>([
    ['many small entries', Object.fromEntries(Array.from({ length: 5_000 }, (_, n) => [`key-${n}`, n]))],
    ['many texts', Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`key-${n}`, long('x', 600)]))],
    ['a long list', { list: Array.from({ length: 10_000 }, (_, n) => n), prompt: 'a fox' }],
    ['a long name', { [long('n', 60_000)]: 1 }],
    ['what JSON writes longer', { prompt: long('\u0001', 10_000) }],
    ['nothing but nesting', { a: Array.from({ length: 2_000 }, () => [[]]) }],
    ['letters of three bytes', { prompt: long('狐', 20_000), negative: long('猫', 20_000) }],
  ])('is never more than 1.6 kB of long ones: %s', (_, params) => {
    const shown = shownParams(params, {})
    expect(bytesOf(shown)).toBeLessThanOrEqual(1_602)
  })

  it('keeps a text as far as there is room, whatever its script', () => {
    expect(shownParams({ seed: 7, prompt: long('狐', 20_000) }, {})).toEqual({
      seed: 7,
      prompt: long('狐', 500),
    })
    const shown = shownParams({ first: long('狐', 20_000), second: long('猫', 20_000) }, {})
    expect(Object.keys(shown ?? {})).toEqual(['first', 'second'])
  })

  it('is never cut through a character', () => {
    const prompt = String(shownParams({ prompt: `x${long('🦊', 5_000)}` }, {})?.prompt)
    expect(prompt.isWellFormed()).toBe(true)
    expect(prompt).toHaveLength(499)
  })

  it('keeps strange names as names', () => {
    const params = JSON.parse(
      `{"__proto__": {"polluted": true}, "constructor": 1, "prompt": "${long('x', 5_000)}"}`,
    )
    const shown = shownParams(params, {})
    expect(Object.keys(shown ?? {})).toEqual(['__proto__', 'constructor', 'prompt'])
    expect(Object.getPrototypeOf(shown)).toBe(Object.prototype)
  })
})
