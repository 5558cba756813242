import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { misses } from '../../bench/poller/finding.ts'
import { type BusKind, openReplicasLab, type ReplicasLab } from '../../bench/replicas/replicas-lab.ts'
import { runOverBus, SHORT } from '../../bench/replicas/run-over-bus.ts'

/**
 * The full form, with 300 streams of 100 users and with limits in milliseconds, is `npm run proof -- replicas`. Here a
 * finish only has to come before a sweep could have found it, and clients only have to come back.
 */
const size = { ...SHORT, heardWithinMs: 3_750, backWithinMs: 30_000 }

let lab: ReplicasLab
beforeAll(async () => {
  lab = await openReplicasLab()
}, 60_000)
afterAll(() => lab?.close(), 60_000)

describe.concurrent('three servers behind nginx', () => {
  it.each<BusKind>(['redis', 'postgres'])(
    'E2, P7: over %s a finish reaches the streams of all, and clients of a killed one miss nothing',
    async (bus) => {
      const { found } = await runOverBus(lab, bus, size).catch((error: unknown) => {
        throw new Error(`${error instanceof Error ? error.message : String(error)}\n${lab.said()}`, {
          cause: error,
        })
      })
      expect(misses(found), lab.said()).toEqual([])
    },
    180_000,
  )
})
