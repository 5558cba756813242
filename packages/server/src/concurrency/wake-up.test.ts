import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createWakeUp } from './wake-up.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** Whether a promise has resolved by now. */
function watch(promise: Promise<void>) {
  const state = { done: false }
  void promise.then(() => {
    state.done = true
  })
  return state
}

const never = new AbortController().signal
const settle = () => vi.advanceTimersByTimeAsync(0)

describe('createWakeUp', () => {
  it('sleeps as long as it was told', async () => {
    const nap = watch(createWakeUp().pause(100, never))
    await vi.advanceTimersByTimeAsync(99)
    expect(nap.done).toBe(false)
    await vi.advanceTimersByTimeAsync(1)
    expect(nap.done).toBe(true)
  })

  it('wakes everyone who sleeps', async () => {
    const wakeable = createWakeUp()
    const naps = [watch(wakeable.pause(100, never)), watch(wakeable.pause(1_000, never))]
    wakeable.wake()
    await settle()
    expect(naps).toEqual([{ done: true }, { done: true }])
    expect(vi.getTimerCount()).toBe(0)
  })

  it('a call that came while nobody slept counts once', async () => {
    const wakeable = createWakeUp()
    wakeable.wake()
    wakeable.wake()
    const first = watch(wakeable.pause(100, never))
    await settle()
    expect(first.done).toBe(true)
    const second = watch(wakeable.pause(100, never))
    await settle()
    expect(second.done).toBe(false)
    await vi.advanceTimersByTimeAsync(100)
  })

  it('a call that woke somebody is used up', async () => {
    const wakeable = createWakeUp()
    const first = watch(wakeable.pause(100, never))
    wakeable.wake()
    await settle()
    expect(first.done).toBe(true)
    const second = watch(wakeable.pause(100, never))
    await settle()
    expect(second.done).toBe(false)
    await vi.advanceTimersByTimeAsync(100)
  })

  it('does not sleep on when told to stop, nor begin to', async () => {
    const stop = new AbortController()
    const wakeable = createWakeUp()
    const nap = watch(wakeable.pause(60_000, stop.signal))
    stop.abort()
    await settle()
    expect(nap.done).toBe(true)
    const late = watch(wakeable.pause(60_000, stop.signal))
    await settle()
    expect(late.done).toBe(true)
    expect(vi.getTimerCount()).toBe(0)
  })
})
