import type { Finding } from './finding.ts'
import type { PollerLab } from './poller-lab.ts'
import { type LaneFloodOptions, runLaneFlood } from './run-lane-flood.ts'
import { runPausedHolder } from './run-paused-holder.ts'
import { runPostgresRestart } from './run-postgres-restart.ts'
import { runProviderTroubles } from './run-provider-troubles.ts'
import { runRedisLoss } from './run-redis-loss.ts'
import { runRefusedStart } from './run-refused-start.ts'
import { runSlowProvider } from './run-slow-provider.ts'
import { runSpread } from './run-spread.ts'

export interface Scenario {
  name: string
  run(lab: PollerLab): Promise<Finding[]>
}

interface Size {
  spread: { lock: 'advisory' | 'redis' | 'none'; operation: 'query' | 'create' }[]
  /** Due at once where the limit is measured, and in a round that something breaks into. */
  due: number
  round: number
  postgresAwayMs: number
  redisAwayMs: number
  phaseMs: number
  callTimeoutMs: number
  flood: number
  floods: Pick<LaneFloodOptions, 'into' | 'beside' | 'everyMs' | 'allowanceMs'>[]
  lagPolls: number
}

/** A claim or two later at most, on a machine that does everything at once. */
const BESIDE_FREE = {
  into: 'free_default',
  beside: 'vip_short',
  everyMs: 200,
  allowanceMs: 250,
} as const

/** As much and as long as promised: a quarter of an hour. */
export const FULL: Size = {
  spread: (['advisory', 'redis', 'none'] as const).flatMap((lock) => [
    { lock, operation: 'query' as const },
    { lock, operation: 'create' as const },
  ]),
  due: 1_000,
  round: 500,
  postgresAwayMs: 20_000,
  redisAwayMs: 10_000,
  phaseMs: 60_000,
  callTimeoutMs: 10_000,
  flood: 10_000,
  floods: [
    BESIDE_FREE,
    // A lane of less weight than the flooded one is only promised its share: one turn in five, drawn by lot.
    { into: 'vip_short', beside: 'free_default', everyMs: 500, allowanceMs: 1_000 },
  ],
  lagPolls: 100,
}

/** Everything once, in two minutes. */
export const SHORT: Size = {
  spread: [
    { lock: 'advisory', operation: 'query' },
    { lock: 'redis', operation: 'create' },
    { lock: 'none', operation: 'query' },
  ],
  due: 200,
  round: 120,
  postgresAwayMs: 4_500,
  redisAwayMs: 2_500,
  phaseMs: 1_000,
  callTimeoutMs: 1_000,
  flood: 2_000,
  floods: [BESIDE_FREE],
  lagPolls: 30,
}

export function scenarios(size: Size): Scenario[] {
  return [
    ...size.spread.map(({ lock, operation }) => ({
      name: `P1, P7 ${operation === 'query' ? 'polls' : 'creates'} of three replicas keep to the limit and come evenly, also when one is killed (lock: ${lock})`,
      run: (lab: PollerLab) => runSpread(lab, { lock, operation, tasks: size.due }),
    })),
    ...(['advisory', 'redis'] as const).map((lock) => ({
      name: `P3, F10 a holder that was stopped past its lock writes nothing when it wakes (lock: ${lock})`,
      run: (lab: PollerLab) => runPausedHolder(lab, { lock, tasks: 20 }),
    })),
    {
      name: 'P4 a provider slower than the poll interval still gets its tasks settled',
      run: (lab) => runSlowProvider(lab, { tasks: 20 }),
    },
    { name: 'P3 behind a transaction pooler the advisory lock is refused at start', run: runRefusedStart },
    {
      name: 'P5 PostgreSQL restarted in the middle of a round',
      run: (lab) => runPostgresRestart(lab, { tasks: size.round, awayMs: size.postgresAwayMs }),
    },
    {
      name: 'P3 Redis flushed and restarted in the middle of a round',
      run: (lab) => runRedisLoss(lab, { tasks: 2 * size.round, awayMs: size.redisAwayMs }),
    },
    {
      name: 'P4 the provider fails in every way',
      run: (lab) => runProviderTroubles(lab, { phaseMs: size.phaseMs, callTimeoutMs: size.callTimeoutMs }),
    },
    ...size.floods.map((lanes) => ({
      name: `Q1 a flood in ${lanes.into} does not ${lanes.beside === 'free_default' ? 'stop' : 'delay'} ${lanes.beside}`,
      run: (lab: PollerLab) => runLaneFlood(lab, { ...lanes, flood: size.flood, polls: size.lagPolls }),
    })),
  ]
}
