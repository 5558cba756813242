import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createBrowserStreams } from './browser-streams.ts'

const arrivals = fc.array(
  fc.record({
    userId: fc.constantFrom('ada', 'bob'),
    browserId: fc.constantFrom('x', 'y'),
    epoch: fc.integer({ min: 1, max: 5 }),
    leaves: fc.boolean(),
  }),
  { maxLength: 30 },
)

it('F5: never two streams of one browser and user, and never an older leader in a newer one’s place', () => {
  fc.assert(
    fc.property(arrivals, (schedule) => {
      const streams = createBrowserStreams()
      const open = new Map<object, { key: string; epoch: number }>()
      for (const { userId, browserId, epoch, leaves } of schedule) {
        const id = {}
        const key = `${userId} ${browserId}`
        const newer = [...open.values()].some((other) => other.key === key && other.epoch > epoch)
        const leave = streams.enter({ userId, browserId, epoch, supersede: () => open.delete(id) })
        expect(leave === null).toBe(newer)
        if (leave) open.set(id, { key, epoch })
        const keys = [...open.values()].map((other) => other.key)
        expect(new Set(keys).size).toBe(keys.length)
        if (!leave || !leaves) continue
        leave()
        open.delete(id)
      }
    }),
  )
})

it('a stream that was superseded takes nothing with it when it leaves', () => {
  const streams = createBrowserStreams()
  const stream = { userId: 'ada', browserId: 'x', supersede: () => {} }
  const leave = streams.enter({ ...stream, epoch: 1 })
  streams.enter({ ...stream, epoch: 2 })
  leave?.()
  expect(streams.enter({ ...stream, epoch: 1 })).toBeNull()
})
