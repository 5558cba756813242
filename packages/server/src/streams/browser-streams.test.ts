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

it('F5: over replicas that hear of each other, only streams of the newest leader are left, however late they hear', () => {
  const openings = fc.array(
    fc.record({
      replica: fc.nat({ max: 2 }),
      epoch: fc.integer({ min: 1, max: 4 }),
      heard: fc.nat({ max: 5 }),
    }),
    { minLength: 1, maxLength: 20 },
  )
  fc.assert(
    fc.property(openings, (schedule) => {
      const replicas = Array.from({ length: 3 }, createBrowserStreams)
      const open = new Map<object, number>()
      const channel: { to: number; epoch: number }[] = []
      const tell = (from: number, epoch: number) => {
        for (const to of replicas.keys()) if (to !== from) channel.push({ to, epoch })
      }
      const hearNext = () => {
        const hint = channel.shift()
        if (!hint) return false
        const newer = replicas[hint.to]?.hear({ userId: 'ada', browserId: 'x', epoch: hint.epoch })
        if (newer) tell(hint.to, newer.epoch)
        return true
      }
      for (const { replica, epoch, heard } of schedule) {
        const id = {}
        const stream = { userId: 'ada', browserId: 'x', epoch, supersede: () => open.delete(id) }
        if (replicas[replica]?.enter(stream)) {
          open.set(id, epoch)
          tell(replica, epoch)
        }
        for (let n = 0; n < heard; n += 1) hearNext()
      }
      while (hearNext());
      const newest = Math.max(...schedule.map(({ epoch }) => epoch))
      expect(new Set(open.values())).toEqual(new Set([newest]))
    }),
  )
})
