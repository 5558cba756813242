import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { lastTick, onTick } from './ticker.ts'
import { agoText } from './time-text.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

test('a text that was made half an hour ago does not say "just now" for ever', () => {
  const finishedAt = Date.now()
  const texts = new Set<string>()
  const stop = onTick(() => texts.add(agoText(finishedAt, lastTick())))
  vi.advanceTimersByTime(3 * 60_000)
  stop()
  expect([...texts]).toEqual(['just now', '1 min ago', '2 min ago', '3 min ago'])
})

test('time has not stood still while nobody listened', () => {
  onTick(() => {})()
  vi.advanceTimersByTime(30 * 60_000)
  const stop = onTick(() => {})
  expect(lastTick()).toBe(Date.now())
  stop()
})

test('there is no timer without a listener', () => {
  const stops = [onTick(() => {}), onTick(() => {})]
  expect(vi.getTimerCount()).toBe(1)
  for (const stop of stops) stop()
  expect(vi.getTimerCount()).toBe(0)
})
