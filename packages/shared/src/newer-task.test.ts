import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isNewer, type TaskState } from './newer-task.ts'

const state = fc.record({
  version: fc.integer({ min: 1, max: 6 }),
  progress: fc.option(fc.integer({ min: 0, max: 4 }), { nil: null }),
})
const same = (a: TaskState, b: TaskState) => a.version === b.version && a.progress === b.progress

function merge(states: TaskState[]): TaskState | undefined {
  let known: TaskState | undefined
  for (const incoming of states) if (isNewer(incoming, known)) known = incoming
  return known
}

describe('isNewer', () => {
  it('takes whatever comes when nothing is known', () => {
    fc.assert(fc.property(state, (incoming) => isNewer(incoming, undefined)))
  })

  it('prefers the higher version, whatever the progress', () => {
    expect(isNewer({ version: 2, progress: null }, { version: 1, progress: 100 })).toBe(true)
    expect(isNewer({ version: 1, progress: 100 }, { version: 2, progress: null })).toBe(false)
  })

  it('prefers the higher progress within a version, and any progress to none', () => {
    expect(isNewer({ version: 1, progress: 3 }, { version: 1, progress: 2 })).toBe(true)
    expect(isNewer({ version: 1, progress: 0 }, { version: 1, progress: null })).toBe(true)
    expect(isNewer({ version: 1, progress: null }, { version: 1, progress: 0 })).toBe(false)
  })

  it('is a strict total order: of two different states exactly one is newer', () => {
    fc.assert(
      fc.property(state, state, (a, b) => {
        const newer = [isNewer(a, b), isNewer(b, a)].filter(Boolean).length
        return newer === (same(a, b) ? 0 : 1)
      }),
    )
  })

  it('is transitive', () => {
    fc.assert(
      fc.property(state, state, state, (a, b, c) => !(isNewer(a, b) && isNewer(b, c)) || isNewer(a, c)),
    )
  })

  it('merges to the same state in any order and with any repetition', () => {
    const deliveries = fc
      .array(state, { minLength: 1, maxLength: 8 })
      .chain((states) =>
        fc.tuple(
          fc.constant(states),
          fc.shuffledSubarray([...states, ...states], { minLength: 2 * states.length }),
        ),
      )
    fc.assert(
      fc.property(deliveries, ([states, delivered]) => {
        expect(merge(delivered)).toEqual(merge(states))
      }),
    )
  })
})
