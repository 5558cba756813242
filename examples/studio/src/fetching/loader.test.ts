import { HoldfastError } from '@holdfast/client'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createLoader } from './loader.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

const settle = () => vi.advanceTimersByTimeAsync(0)

test('a request while loading leads to one more load, not two', async () => {
  const answers = [1, 2, 3]
  const seen: number[] = []
  const load = vi.fn(async () => answers.shift() ?? 0)
  const loader = createLoader({ load, onData: (data) => seen.push(data), onError: () => {} })
  loader.request()
  loader.request()
  loader.request()
  await settle()
  expect(seen).toEqual([1, 2])
})

test('it keeps trying while the server is away, and says so', async () => {
  const onData = vi.fn()
  const onError = vi.fn()
  const load = vi.fn<() => Promise<string>>()
  load.mockRejectedValueOnce(new TypeError('fetch failed')).mockResolvedValue('here')
  createLoader({ load, onData, onError, pauses: [100] }).request()
  await settle()
  expect(onError).toHaveBeenCalledOnce()
  await vi.advanceTimersByTimeAsync(100)
  expect(onData).toHaveBeenCalledWith('here')
})

test('a clear no is not asked about again', async () => {
  const load = vi.fn(() =>
    Promise.reject(new HoldfastError('NOT_FOUND', 'No such conversation.', { status: 404 })),
  )
  createLoader({ load, onData: () => {}, onError: () => {}, pauses: [100] }).request()
  await vi.advanceTimersByTimeAsync(1000)
  expect(load).toHaveBeenCalledOnce()
})

test('after stop nothing is told and nothing is asked', async () => {
  const onData = vi.fn()
  const onError = vi.fn()
  const load = vi.fn(() => Promise.reject(new TypeError('fetch failed')))
  const loader = createLoader({ load, onData, onError, pauses: [100] })
  loader.request()
  loader.stop()
  await vi.advanceTimersByTimeAsync(1000)
  expect(load).toHaveBeenCalledOnce()
  expect(onError).not.toHaveBeenCalled()
  loader.request()
  expect(load).toHaveBeenCalledOnce()
})
