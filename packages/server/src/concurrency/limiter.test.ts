import { describe, expect, it } from 'vitest'
import { createLimiter } from './limiter.ts'

function lineOf(atOnce: number) {
  const started: number[] = []
  const finish = new Map<number, () => void>()
  const line = createLimiter<number>(atOnce, (work) => {
    started.push(work)
    return new Promise((resolve) => finish.set(work, resolve))
  })
  return { line, started, finish }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

describe('createLimiter', () => {
  it('starts what there is room for at once, and the rest in order as others end', async () => {
    const { line, started, finish } = lineOf(2)
    line.add([1, 2, 3])
    expect(started).toEqual([1, 2])
    line.add([4, 5])
    finish.get(2)?.()
    await turn()
    expect(started).toEqual([1, 2, 3])
    finish.get(1)?.()
    finish.get(3)?.()
    await turn()
    expect(started).toEqual([1, 2, 3, 4, 5])
  })

  it('uses all its room again after it has been empty', async () => {
    const { line, started, finish } = lineOf(2)
    line.add([1, 2])
    for (const end of finish.values()) end()
    await turn()
    line.add([3, 4, 5])
    expect(started).toEqual([1, 2, 3, 4])
  })

  it('is drained when all has ended, what waited included', async () => {
    const { line, started, finish } = lineOf(1)
    await line.drained()
    line.add([1, 2])
    let isDrained = false
    const drained = line.drained().then(() => {
      isDrained = true
    })
    finish.get(1)?.()
    await turn()
    expect(started).toEqual([1, 2])
    expect(isDrained).toBe(false)
    finish.get(2)?.()
    await drained
  })
})
