import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Finding, misses } from '../../bench/poller/finding.ts'
import { perform, scenarios, short } from '../../bench/tabs/scenarios.ts'
import { openTabsLab, type TabsLab } from '../../bench/tabs/tabs-lab.ts'

/** The full form, with as many tabs and as long as promised, is `npm run proof -- tabs`. */
const all = scenarios(short([1]))
/** Those that wait most of the time begin with the first and are asked for last. */
const aside = new Map<string, Promise<Finding[]>>()
let lab: TabsLab
beforeAll(async () => {
  lab = await openTabsLab()
  for (const scenario of all.filter((one) => one.aside)) {
    const found = perform(lab, scenario)
    // Whoever asks for it is told.
    found.catch(() => {})
    aside.set(scenario.name, found)
  }
}, 60_000)
afterAll(() => lab?.close(), 60_000)

describe('real tabs of a real Chromium', () => {
  it.each(all)('$name', async (scenario) => {
    const found = await (aside.get(scenario.name) ?? perform(lab, scenario))
    expect(found.length).toBeGreaterThan(0)
    expect(misses(found)).toEqual([])
  })
})
