import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createTimeLimit } from './time-limit.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

describe('a time limit', () => {
  it('lets an answer through, and an error', async () => {
    const within = createTimeLimit(5_000)
    expect(await within(Promise.resolve(1), () => 2)).toBe(1)
    await expect(within(Promise.reject(new Error('no')), () => 2)).rejects.toThrow('no')
    await vi.advanceTimersByTimeAsync(1_000)
    expect(vi.getTimerCount()).toBe(0)
  })

  it('answers for what takes too long, and for nothing else', async () => {
    const within = createTimeLimit(5_000)
    const late = within(new Promise<string>(() => {}), () => 'late')
    await vi.advanceTimersByTimeAsync(3_000)
    const inTime = within(
      new Promise<string>((resolve) => setTimeout(resolve, 4_000, 'in time')),
      () => 'late',
    )
    await vi.advanceTimersByTimeAsync(3_000)
    expect(await late).toBe('late')
    await vi.advanceTimersByTimeAsync(3_000)
    expect(await inTime).toBe('in time')
  })
})
