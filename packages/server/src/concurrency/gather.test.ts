import { describe, expect, it } from 'vitest'
import { gather } from './gather.ts'

/** Calls that end when they are told to. */
function heldCalls() {
  const batches: number[][] = []
  const ends: (() => void)[] = []
  const ask = gather<number, number>({
    async together(items) {
      batches.push([...items])
      await new Promise<void>((resolve) => ends.push(resolve))
      return items.map((item) => (item % 2 === 0 ? null : item * 10))
    },
    alone: async (item) => item * 1_000,
  })
  return { ask, batches, endNext: () => ends.shift()?.() }
}

/** Fails together as long as 2 is among them; 2 fails alone, too. */
function withOneThatFails(seen: (readonly number[])[] = []) {
  const failing = async <R>(items: readonly number[], answer: R): Promise<R> => {
    seen.push(items)
    if (items.includes(2)) throw new Error('two')
    return answer
  }
  return gather<number, number>({
    together: (items) => failing(items, items),
    alone: (item) => failing([item], item),
  })
}

describe('gather', () => {
  it('serves a caller who comes alone at once, and those who come meanwhile together', async () => {
    const { ask, batches, endNext } = heldCalls()
    const first = ask(1)
    await expect.poll(() => batches).toEqual([[1]])
    const others = [ask(3), ask(5), ask(7)]
    endNext()
    expect(await first).toBe(10)
    await expect.poll(() => batches).toEqual([[1], [3, 5, 7]])
    endNext()
    expect(await Promise.all(others)).toEqual([30, 50, 70])
  })

  it('does alone what could not be done together, and the next call does not wait for it', async () => {
    const batches: (readonly string[])[] = []
    const ask = gather<string, string>({
      async together(items) {
        batches.push(items)
        return items.map((item) => (item === 'held' ? null : item))
      },
      alone: () => new Promise(() => {}),
    })
    void ask('held')
    expect(await ask('free')).toBe('free')
    expect(await ask('later')).toBe('later')
    expect(batches).toEqual([['held', 'free'], ['later']])
  })

  it('lets one that cannot be done fail alone', async () => {
    const seen: (readonly number[])[] = []
    const ask = withOneThatFails(seen)
    const settled = await Promise.allSettled([ask(1), ask(2), ask(3)])
    expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(seen).toEqual([[1, 2, 3], [1], [2], [3]])
    expect(await ask(4)).toBe(4)
  })

  it('also if it is the only one: alone there may be another way', async () => {
    const ask = gather<number, string>({
      together: async () => {
        throw new Error('not like this')
      },
      alone: async (item) => `alone ${item}`,
    })
    expect(await ask(1)).toBe('alone 1')
  })

  it('does not have the others wait for one that takes long, when the whole call has failed', async () => {
    const ask = gather<number, number>({
      together: async () => {
        throw new Error('one of them')
      },
      alone: (item) => (item === 1 ? new Promise(() => {}) : Promise.resolve(item)),
    })
    const [, ...others] = [ask(1), ask(2), ask(3)]
    expect(await Promise.all(others)).toEqual([2, 3])
  })

  it('takes nothing for an answer, where there is nothing to say', async () => {
    const alone: number[] = []
    const ask = gather<number, void>({
      together: async (items) => items.map(() => undefined),
      alone: async (item) => void alone.push(item),
    })
    await Promise.all([ask(1), ask(2)])
    expect(alone).toEqual([])
  })

  it('tells all at once of an error that each would meet', async () => {
    let calls = 0
    const away = async () => {
      calls += 1
      throw new Error('away')
    }
    const ask = gather<number, number>({ together: away, alone: away, isHopeless: () => true })
    const settled = await Promise.allSettled([ask(1), ask(2), ask(3)])
    expect(settled.every(({ status }) => status === 'rejected')).toBe(true)
    expect(calls).toBe(1)
  })

  it('makes calls of a bounded size', async () => {
    const sizes: number[] = []
    const ask = gather<number, number>({
      async together(items) {
        sizes.push(items.length)
        return items
      },
      alone: async (item) => item,
      maxItems: 200,
    })
    await Promise.all(Array.from({ length: 450 }, (_, index) => ask(index)))
    expect(sizes).toEqual([200, 200, 50])
  })
})
