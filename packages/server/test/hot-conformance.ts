import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { HotStore } from '../src/hot/hot-store.ts'

/** Opens a store that holds nothing yet and forgets after `ttlMs`. */
export type OpenHot = (ttlMs: number) => HotStore | Promise<HotStore>

/** What every hot store does. */
export function describeHot(name: string, open: OpenHot): void {
  describe(name, () => {
    let hot: HotStore
    beforeEach(async () => {
      hot = await open(60_000)
    })
    afterEach(() => hot.close())
    const report = (taskId: string, progress: number, userId = 'ada') => ({ userId, taskId, progress })
    const all = async (userId = 'ada') => Object.fromEntries(await hot.read(userId))

    it('Q3: keeps many reports at once, by user', async () => {
      await hot.write([report('a', 10), report('b', 0), report('c', 99, 'bob')])
      expect(await all()).toEqual({ a: 10, b: 0 })
      expect(await all('bob')).toEqual({ c: 99 })
      expect(await all('nobody')).toEqual({})
      await hot.write([])
    })

    it('Q3: of the reports about a task the highest wins, in any order and grouping, also at the same time', async () => {
      let run = 0
      await fc.assert(
        fc.asyncProperty(
          fc.array(
            fc.array(fc.tuple(fc.constantFrom('a', 'b'), fc.integer({ min: 0, max: 99 })), { maxLength: 4 }),
            {
              maxLength: 6,
            },
          ),
          async (batches) => {
            const userId = `user-${run++}`
            await Promise.all(
              batches.map((batch) =>
                hot.write(batch.map(([task, progress]) => report(task, progress, userId))),
              ),
            )
            const expected = new Map<string, number>()
            for (const [task, progress] of batches.flat())
              expected.set(task, Math.max(progress, expected.get(task) ?? 0))
            expect(await hot.read(userId)).toEqual(expected)
          },
        ),
        { numRuns: 40 },
      )
    })

    it('forgets a task, and is not disturbed by what it does not know', async () => {
      await hot.write([report('a', 10), report('b', 20)])
      await hot.forget([
        { userId: 'ada', taskId: 'a' },
        { userId: 'ada', taskId: 'nothing' },
        { userId: 'nobody', taskId: 'a' },
      ])
      expect(await all()).toEqual({ b: 20 })
      await hot.write([report('a', 5)])
      expect(await all()).toEqual({ a: 5, b: 20 })
    })

    it('takes names of any kind', async () => {
      const user = 'ü "\\\n:{}*'
      await hot.write([report('a', 1, user)])
      expect(await all(user)).toEqual({ a: 1 })
    })

    it('forgets by itself what nobody reports on any more', async () => {
      const brief = await open(50)
      await brief.write([report('a', 10)])
      await vi.waitFor(async () => expect(await brief.read('ada')).toEqual(new Map()), { timeout: 5_000 })
      await brief.close()
    })

    it('can be closed twice, and knows nothing afterwards', async () => {
      await hot.write([report('a', 10)])
      await hot.close()
      await hot.close()
      await hot.write([report('a', 11)])
    })
  })
}
