import { expect, test } from 'vitest'
import { defineProvider } from './define-provider.ts'

const definition = {
  name: 'my-gpu',
  create: async () => ({ kind: 'accepted', externalId: '1' }) as const,
  query: async () => ({ kind: 'running', progress: null }) as const,
}

test('what is not said is filled in', async () => {
  const gpu = defineProvider({ ...definition, limits: { minPollMs: 50 } })
  expect(gpu.limits).toMatchObject({ minPollMs: 50, callTimeoutMs: 10_000, create: { perSecond: 1 } })
  await expect(gpu.close()).resolves.toBeUndefined()
  expect(gpu.cancel).toBeUndefined()
})

test.each(['', 'My GPU', '1st', 'a'.repeat(51), 'a/b'])('%j cannot name a provider', (name) => {
  expect(() => defineProvider({ ...definition, name })).toThrow('cannot name a provider')
})

test.each([
  [{ create: { perSecond: 0, inFlight: 1 } }, 'create.perSecond'],
  [{ query: { perSecond: 1, inFlight: 0 } }, 'query.inFlight'],
  [{ query: { perSecond: 1, inFlight: 1, burst: 0.5 } }, 'query.burst'],
  [{ callTimeoutMs: Number.NaN }, 'callTimeoutMs'],
  [{ minPollMs: -1 }, 'minPollMs'],
])('the limits %j are refused, and it is said which', (limits, which) => {
  expect(() => defineProvider({ ...definition, limits })).toThrow(`The limit ${which} of provider "my-gpu"`)
})
