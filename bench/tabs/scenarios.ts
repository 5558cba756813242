import type { Finding } from '../poller/finding.ts'
import { runChaos } from './run-chaos.ts'
import { runDeafTab } from './run-deaf-tab.ts'
import { type HiddenSize, runHiddenTabs } from './run-hidden-tabs.ts'
import { runKilledBrowser } from './run-killed-browser.ts'
import { runLeftBehind, runLeftBehindHidden } from './run-left-behind.ts'
import { type ReleasesSize, runReleases } from './run-releases.ts'
import { type RoundsSize, runRounds } from './run-rounds.ts'
import type { Stage, TabsLab } from './tabs-lab.ts'

export interface Scenario {
  name: string
  /** Waits most of the time, so that others may go on beside it. */
  aside?: boolean
  /** Only of those with a random course. */
  seed?: number
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
  /** A course of random events for each. */
  seeds: number[]
  verbose?: boolean
  /** `slow`: how many of the tasks take long, from 0 to 1. */
  chaos: { tabs: number; forMs: number; slow: number }
  /** Where every tab is on its own there is nothing to hand over. */
  alone: Size['chaos'] | null
  rounds: RoundsSize
  hidden: HiddenSize
  kills: number
  /** How often a tab crashes; and how often beside tabs that are truly hidden, which takes minutes. */
  leftBehind: { times: number; hiddenTimes: number }
  releases: ReleasesSize | null
  deaf: { tabs: number; spanMs: number } | null
}

/** As much and as long as promised: two minutes of each chaos with one seed, a quarter of one for each of ten. */
export const full = (seeds: number[]): Size => ({
  seeds,
  chaos: { tabs: 10, forMs: Math.max(14_000, 120_000 / seeds.length), slow: 0.3 },
  alone: { tabs: 10, forMs: Math.max(10_000, 40_000 / seeds.length), slow: 0.3 },
  rounds: { tabs: 6, rounds: 500, roundMs: 240 },
  hidden: { tabs: 4, expiries: 2, hasten: false },
  kills: 12,
  leftBehind: { times: 5, hiddenTimes: 3 },
  releases: { tabs: 1, watchMs: 60_000 },
  deaf: { tabs: 3, spanMs: 60_000 },
})

/** Everything that takes no minute of watching once, in a minute and a half. */
export const short = (seeds: number[]): Size => ({
  seeds,
  chaos: { tabs: 5, forMs: 7_500, slow: 0 },
  // Tabs that poll with nothing under way take half a minute to become equal.
  alone: null,
  rounds: { tabs: 4, rounds: 12, roundMs: 400 },
  hidden: { tabs: 3, expiries: 1, hasten: true },
  kills: 2,
  leftBehind: { times: 1, hiddenTimes: 0 },
  releases: null,
  deaf: null,
})

const VARIANTS = [
  { level: 'web-lock', lacking: [] },
  { level: 'indexeddb', lacking: ['locks'] },
  { level: 'web-lock', lacking: ['indexedDB'] },
  { level: 'every-tab', lacking: ['locks', 'indexedDB'] },
] as const

export function scenarios(size: Size): Scenario[] {
  const { rounds, hidden, kills, leftBehind, releases, deaf } = size
  const [seed = 1] = size.seeds
  const all: Scenario[] = size.seeds.flatMap((each) => chaosOf(size, each))
  all.push(
    ...LEVELS.map((level) => ({
      name: `rounds of all tabs starting at one instant (${level})`,
      run: (stage: Stage) => runRounds(stage, { ...rounds, level }),
    })),
    {
      name: 'a browser that is killed right after an offline submit sends it once, after its restart',
      run: (stage) => runKilledBrowser(stage, { times: kills, seed }),
    },
    {
      name: 'a submit left behind by a crashed tab is sent soon',
      run: (stage) => runLeftBehind(stage, leftBehind),
    },
    {
      name: 'tabs that are all hidden and throttled: the leader keeps its lease, nobody steals it',
      aside: true,
      run: async (stage) =>
        (await Promise.all(LEVELS.map((level) => runHiddenTabs(stage, { ...hidden, level })))).flat(),
    },
  )
  if (leftBehind.hiddenTimes > 0) {
    all.push({
      name: 'a submit left behind by a crashed tab is sent within a minute by tabs that are hidden and throttled',
      aside: true,
      run: (stage) => runLeftBehindHidden(stage, { times: leftBehind.hiddenTimes }),
    })
  }
  if (releases) {
    all.push({
      name: 'two releases in the tabs of one browser leave each other alone',
      aside: true,
      run: (stage) => runReleases(stage, releases),
    })
  }
  if (deaf) {
    all.push({
      name: 'a deaf tab that takes every leader for dead stops stealing',
      aside: true,
      run: (stage) => runDeafTab(stage, deaf),
    })
  }
  return all
}

const LEVELS = ['web-lock', 'indexeddb'] as const

function chaosOf(size: Size, seed: number): Scenario[] {
  const { verbose } = size
  return VARIANTS.flatMap(({ level, lacking }) => {
    const chaos = level === 'every-tab' ? size.alone : size.chaos
    if (!chaos) return []
    const left = lacking.length > 0 ? `without ${lacking.join(' and ')}` : 'with everything'
    return {
      name: `chaos among the tabs of one browser, ${left} (${level}), seed ${seed}`,
      seed,
      run: (stage: Stage) => runChaos(stage, { ...chaos, seed, verbose, level, lacking: [...lacking] }),
    }
  })
}
