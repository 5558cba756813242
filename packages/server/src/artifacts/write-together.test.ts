import { describe, expect, it } from 'vitest'
import { writeTogether } from './write-together.ts'

describe('writing together', () => {
  it('takes what comes within a moment along with the next, and gives each its own answer', async () => {
    const batches: number[][] = []
    const gates: (() => void)[] = []
    const write = writeTogether(async (items: number[]) => {
      batches.push(items)
      await new Promise<void>((resolve) => gates.push(resolve))
      return items.map((item) => item * 10)
    }, 5)
    const first = [write(1), write(2)]
    await Promise.resolve()
    await Promise.resolve()
    const second = [write(3), write(4), write(5)]
    expect(batches).toEqual([[1, 2]])
    gates.shift()?.()
    expect(await Promise.all(first)).toEqual([10, 20])
    await expect.poll(() => batches.length).toBe(2)
    expect(batches).toEqual([
      [1, 2],
      [3, 4, 5],
    ])
    gates.shift()?.()
    expect(await Promise.all(second)).toEqual([30, 40, 50])
  })

  it('lets one that cannot be written fail alone', async () => {
    const write = writeTogether(async (items: number[]) => {
      if (items.includes(2)) throw new Error('two')
      return items
    })
    const settled = await Promise.allSettled([write(1), write(2), write(3)])
    expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(await write(4)).toBe(4)
  })

  it('tells everyone at once when the database is away', async () => {
    let writes = 0
    const write = writeTogether(async (_: number[]) => {
      writes += 1
      throw Object.assign(new Error('away'), { code: 'ECONNREFUSED' })
    })
    const settled = await Promise.allSettled([write(1), write(2), write(3)])
    expect(settled.every(({ status }) => status === 'rejected')).toBe(true)
    expect(writes).toBe(1)
  })

  it('writes at most two hundred at a time', async () => {
    const sizes: number[] = []
    const write = writeTogether(async (items: number[]) => {
      sizes.push(items.length)
      return items
    })
    await Promise.all(Array.from({ length: 450 }, (_, index) => write(index)))
    expect(sizes).toEqual([200, 200, 50])
  })
})
