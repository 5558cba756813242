import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { misses } from '../../bench/poller/finding.ts'
import { openPollerLab, type PollerLab } from '../../bench/poller/poller-lab.ts'
import { SHORT, scenarios } from '../../bench/poller/scenarios.ts'

/** The full form, with as many tasks and as long outages as promised, is `npm run proof -- poller`. */
let lab: PollerLab
beforeAll(async () => {
  lab = await openPollerLab()
}, 60_000)
afterAll(() => lab?.close(), 60_000)

describe('three servers in processes of their own', () => {
  it.each(scenarios(SHORT))(
    '$name',
    async ({ run }) => {
      const found = await run(lab).catch((error: unknown) => {
        throw new Error(`${error instanceof Error ? error.message : String(error)}\n${lab.said()}`, {
          cause: error,
        })
      })
      expect(found.length).toBeGreaterThan(0)
      expect(misses(found), lab.said()).toEqual([])
    },
    180_000,
  )
})
