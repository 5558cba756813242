import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type CallGroup, createCallLimits } from './call-limits.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** Calls that write down how they ended, and leave their group as a call does. */
function watching() {
  const limits = createCallLimits()
  const ends: string[] = []
  const begin = (name: string, limitMs: number, signal?: AbortSignal) => {
    let group: CallGroup | undefined
    const end = (how: string) => {
      ends.push(`${name} ${how}`)
      group?.remove(call)
    }
    const call = { outOfTime: (ms: number) => end(`after ${ms}`), stopped: () => end('stopped') }
    group = limits.watch(call, limitMs, signal)
    return () => group?.remove(call)
  }
  return { ends, begin }
}

describe('createCallLimits', () => {
  it('ends each call at its own time, however many share the limit', () => {
    const { ends, begin } = watching()
    begin('first', 1_000)
    vi.advanceTimersByTime(400)
    begin('second', 1_000)
    begin('quick', 100)
    vi.advanceTimersByTime(99)
    expect(ends).toEqual([])
    vi.advanceTimersByTime(1)
    expect(ends).toEqual(['quick after 100'])
    vi.advanceTimersByTime(499)
    expect(ends).toHaveLength(1)
    vi.advanceTimersByTime(1)
    expect(ends).toEqual(['quick after 100', 'first after 1000'])
    vi.advanceTimersByTime(400)
    expect(ends).toEqual(['quick after 100', 'first after 1000', 'second after 1000'])
  })

  it('leaves calls alone that are over, and goes on with those after them', () => {
    const { ends, begin } = watching()
    const over = begin('over', 1_000)
    vi.advanceTimersByTime(10)
    begin('late', 1_000)
    over()
    vi.advanceTimersByTime(1_000)
    expect(ends).toEqual(['late after 1000'])
  })

  it('keeps no timer while there is no call, and starts anew with the next', () => {
    const { ends, begin } = watching()
    begin('a', 1_000)()
    expect(vi.getTimerCount()).toBe(0)
    vi.advanceTimersByTime(500)
    begin('b', 1_000)
    vi.advanceTimersByTime(999)
    expect(ends).toEqual([])
    vi.advanceTimersByTime(1)
    expect(ends).toEqual(['b after 1000'])
    expect(vi.getTimerCount()).toBe(0)
  })

  it('stops the calls of an aborted signal and no others', () => {
    const { ends, begin } = watching()
    const [one, other] = [new AbortController(), new AbortController()]
    begin('a', 1_000, one.signal)
    begin('b', 2_000, one.signal)
    begin('c', 1_000, other.signal)
    begin('d', 1_000)
    begin('e', 1_000, one.signal)()
    one.abort()
    expect(ends).toEqual(['a stopped', 'b stopped'])
    vi.advanceTimersByTime(5_000)
    expect(ends.slice(2).sort()).toEqual(['c after 1000', 'd after 1000'])
  })

  it('adds one listener to a signal, however many calls it has', () => {
    const { begin } = watching()
    const { signal } = new AbortController()
    const listen = vi.spyOn(signal, 'addEventListener')
    for (let calls = 0; calls < 100; calls++) begin('call', 1_000, signal)
    expect(listen).toHaveBeenCalledTimes(1)
  })
})
