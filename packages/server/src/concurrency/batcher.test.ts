import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createBatcher } from './batcher.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

describe('createBatcher', () => {
  function setUp(write: (batch: number[]) => Promise<void> = async () => {}) {
    const batches: number[][] = []
    const errors: unknown[] = []
    const batcher = createBatcher<number>({
      write: (batch) => {
        batches.push(batch)
        return write(batch)
      },
      onError: (error) => errors.push(error),
      maxItems: 3,
      maxDelayMs: 25,
    })
    return { batcher, batches, errors }
  }

  it('writes together what came within the delay', () => {
    const { batcher, batches } = setUp()
    batcher.add(1)
    vi.advanceTimersByTime(24)
    batcher.add(2)
    expect(batches).toEqual([])
    vi.advanceTimersByTime(1)
    expect(batches).toEqual([[1, 2]])
    vi.advanceTimersByTime(1_000)
    expect(batches).toEqual([[1, 2]])
  })

  it('does not wait when the batch is full', () => {
    const { batcher, batches } = setUp()
    for (const item of [1, 2, 3, 4]) batcher.add(item)
    expect(batches).toEqual([[1, 2, 3]])
  })

  it('flushes what is waiting and waits for what is under way', async () => {
    let finish = () => {}
    const { batcher, batches } = setUp(
      () =>
        new Promise((resolve) => {
          finish = resolve
        }),
    )
    batcher.add(1)
    let flushed = false
    const flush = batcher.flush().then(() => {
      flushed = true
    })
    expect(batches).toEqual([[1]])
    await vi.advanceTimersByTimeAsync(100)
    expect(flushed).toBe(false)
    finish()
    await flush
    expect(flushed).toBe(true)
  })

  it('reports a batch that could not be written and goes on', async () => {
    const { batcher, batches, errors } = setUp(async () => {
      throw new Error('away')
    })
    batcher.add(1)
    await batcher.flush()
    batcher.add(2)
    await batcher.flush()
    expect(batches).toEqual([[1], [2]])
    expect(errors).toHaveLength(2)
  })
})
