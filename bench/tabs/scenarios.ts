import type { Finding } from '../poller/finding.ts'
import { runChaos } from './run-chaos.ts'
import type { TabsLab } from './tabs-lab.ts'

export interface Scenario {
  name: string
  run(lab: TabsLab): Promise<Finding[]>
}

export interface Size {
  seed: number
  verbose?: boolean
  chaos: { tabs: number; forMs: number }
}

export const FULL = { chaos: { tabs: 10, forMs: 120_000 } }

export const SHORT = { chaos: { tabs: 5, forMs: 12_000 } }

const VARIANTS = [
  { level: 'web-lock', lacking: [] },
  { level: 'indexeddb', lacking: ['locks'] },
  { level: 'web-lock', lacking: ['indexedDB'] },
  { level: 'every-tab', lacking: ['locks', 'indexedDB'] },
] as const

export function scenarios(size: Size): Scenario[] {
  return [
    ...VARIANTS.map(({ level, lacking }) => ({
      name: `F5 chaos among the tabs of one browser, ${lacking.length > 0 ? `without ${lacking.join(' and ')}` : 'with everything'} (${level})`,
      run: (lab: TabsLab) =>
        runChaos(lab, {
          ...size.chaos,
          seed: size.seed,
          verbose: size.verbose,
          level,
          lacking: [...lacking],
        }),
    })),
  ]
}
