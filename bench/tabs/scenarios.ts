import type { Finding } from '../poller/finding.ts'
import { runChaos } from './run-chaos.ts'
import { type HiddenSize, runHiddenTabs } from './run-hidden-tabs.ts'
import { runKilledBrowser } from './run-killed-browser.ts'
import { type RoundsSize, runRounds } from './run-rounds.ts'
import type { Stage, TabsLab } from './tabs-lab.ts'

export interface Scenario {
  name: string
  /** Waits most of the time, so that others may go on beside it. */
  aside?: boolean
  run(stage: Stage): Promise<Finding[]>
}

/** With a network of its own. */
export async function perform(lab: TabsLab, { run }: Scenario): Promise<Finding[]> {
  const stage = await lab.openStage()
  try {
    return await run(stage)
  } finally {
    await stage.close()
  }
}

export interface Size {
  seed: number
  verbose?: boolean
  /** `slow`: how many of the tasks take long, from 0 to 1. */
  chaos: { tabs: number; forMs: number; slow: number }
  /** Where every tab is on its own there is nothing to hand over. */
  alone: Size['chaos'] | null
  rounds: RoundsSize
  hidden: HiddenSize
  kills: number
}

/** As much and as long as promised: a quarter of an hour in all. */
export const FULL = {
  chaos: { tabs: 10, forMs: 120_000, slow: 0.3 },
  alone: { tabs: 10, forMs: 40_000, slow: 0.3 },
  rounds: { tabs: 6, rounds: 500, roundMs: 240 },
  hidden: { tabs: 4, expiries: 2, hasten: false },
  kills: 12,
}

/** Everything once, in a minute and a half. */
export const SHORT = {
  chaos: { tabs: 5, forMs: 7_500, slow: 0 },
  // Tabs that poll with nothing under way take half a minute to become equal.
  alone: null,
  rounds: { tabs: 4, rounds: 12, roundMs: 400 },
  hidden: { tabs: 3, expiries: 1, hasten: true },
  kills: 2,
}

const VARIANTS = [
  { level: 'web-lock', lacking: [] },
  { level: 'indexeddb', lacking: ['locks'] },
  { level: 'web-lock', lacking: ['indexedDB'] },
  { level: 'every-tab', lacking: ['locks', 'indexedDB'] },
] as const

export function scenarios(size: Size): Scenario[] {
  return [
    ...VARIANTS.flatMap(({ level, lacking }) => {
      const chaos = level === 'every-tab' ? size.alone : size.chaos
      if (!chaos) return []
      const { seed, verbose } = size
      const left = lacking.length > 0 ? `without ${lacking.join(' and ')}` : 'with everything'
      return {
        name: `F5 chaos among the tabs of one browser, ${left} (${level})`,
        run: (stage: Stage) => runChaos(stage, { ...chaos, seed, verbose, level, lacking: [...lacking] }),
      }
    }),
    ...(['web-lock', 'indexeddb'] as const).map((level) => ({
      name: `F5 rounds of all tabs starting at one instant (${level})`,
      run: (stage: Stage) => runRounds(stage, { ...size.rounds, level }),
    })),
    {
      name: 'F1 a browser that is killed right after an offline submit sends it once, after its restart',
      run: (stage) => runKilledBrowser(stage, { times: size.kills, seed: size.seed }),
    },
    {
      name: 'F5 tabs that are all hidden and throttled: the leader keeps its lease, nobody steals it',
      aside: true,
      run: async (stage) => {
        const levels = ['web-lock', 'indexeddb'] as const
        return (
          await Promise.all(levels.map((level) => runHiddenTabs(stage, { ...size.hidden, level })))
        ).flat()
      },
    },
  ]
}
