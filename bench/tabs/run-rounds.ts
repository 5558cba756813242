import { createFindings, type Finding } from '../poller/finding.ts'
import { openBrowser } from './open-browser.ts'
import type { Reign, RoundsReport } from './rounds-in-page.ts'
import type { Stage } from './tabs-lab.ts'

export interface RoundsSize {
  tabs: number
  rounds: number
  roundMs: number
}

/** Clocks of two renderers agree to a fraction of this. */
const CLOCKS_AGREE_MS = 1

/**
 * Tabs that begin at one instant, again and again, and whose leader then leaves, which the others notice at one
 * instant as well. Without a server: who leads is the browser's affair.
 */
export async function runRounds(
  stage: Stage,
  { tabs, rounds, roundMs, level }: RoundsSize & { level: 'web-lock' | 'indexeddb' },
): Promise<Finding[]> {
  const found = createFindings(`rounds: ${level}`)
  const browser = await openBrowser({ lacking: level === 'indexeddb' ? ['locks'] : [] })
  try {
    const opened = []
    for (let n = 0; n < tabs; n++) opened.push((await browser.openTab(stage.network.url)).page)
    const options = {
      name: `rounds ${level}`,
      beginAt: Date.now() + 1_000,
      rounds,
      roundMs,
      leaderLeavesMs: roundMs * 0.4,
      allLeaveMs: roundMs * 0.85,
    }
    const reports: RoundsReport[] = await Promise.all(
      opened.map((page) => page.evaluate((given) => window.lab.rounds(given), options)),
    )
    const reigns = reports.flatMap((report, tab) => report.reigns.map((reign) => ({ ...reign, tab })))
    const played = Array.from({ length: rounds }, (_, round) =>
      reigns.filter((reign) => reign.round === round).sort((a, b) => a.from - b.from),
    )
    found.equal('level', [...new Set(reports.flatMap(({ levels }) => levels))].join(), level)
    found.equal('rounds', played.length, rounds)
    // The others were too short for a machine that had something else to do.
    found.atLeast('rounds with a leader', played.filter((round) => round.length > 0).length, rounds * 0.9)
    found.atLeast(
      'rounds in which another followed the first',
      played.filter((all) => all.length > 1).length,
      1,
    )
    found.atLeast('different tabs that led', new Set(reigns.map(({ tab }) => tab)).size, 2)
    found.equal('rounds with two leaders at a time', played.filter(overlaps).length, 0)
    found.equal('rounds in which two led by the same epoch', played.filter(repeatsEpoch).length, 0)
    found.atMost(
      'starts more than 10 ms late, of a hundred',
      (reports.reduce((total, { late }) => total + late, 0) / (rounds * tabs)) * 100,
      50,
    )
    return found.all
  } finally {
    await browser.close()
  }
}

function overlaps(reigns: Reign[]): boolean {
  return reigns.some((reign, index) => {
    const next = reigns[index + 1]
    return next !== undefined && reign.to - next.from > CLOCKS_AGREE_MS
  })
}

function repeatsEpoch(reigns: Reign[]): boolean {
  return new Set(reigns.map(({ epoch }) => epoch)).size < reigns.length
}
