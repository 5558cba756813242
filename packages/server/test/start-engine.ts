import type { Bus } from '../src/bus/bus.ts'
import { createMemoryBus } from '../src/bus/memory-bus.ts'
import type { Sql } from '../src/database/connect.ts'
import type { HotStore } from '../src/hot/hot-store.ts'
import type { Lock } from '../src/locks/lock.ts'
import { createNoLock } from '../src/locks/no-lock.ts'
import { createMetrics } from '../src/metrics/metrics.ts'
import type { Provider } from '../src/providers/provider.ts'
import type { TaskTypes } from '../src/tasks/task-types.ts'
import { createEngine, defaultEngineOptions, type Engine, type EngineOptions } from '../src/work/workers.ts'
import { createMemoryLog } from './memory-log.ts'
import { notifyOver } from './record-notices.ts'
import { scriptedTypes } from './scripted-types.ts'
import { createTestSettle } from './settle-task.ts'

export interface StartedEngine {
  engine: Engine
  bus: Bus
  logLines: string[]
  /** The value of a metric; undefined if it was never set. Labels as they stand in the text: `provider="kie"`. */
  metric(name: string, labels?: string): Promise<number | undefined>
}

export interface StartEngineOptions {
  bus?: Bus
  hot?: HotStore
  lock?: Lock
  types?: TaskTypes
  random?: () => number
  options?: Partial<EngineOptions>
}

/** An engine at work for one provider. Stop it. */
export function startEngine(
  sql: Sql,
  provider: Provider,
  { bus = createMemoryBus(), hot, lock = createNoLock(), types, random, options }: StartEngineOptions = {},
): StartedEngine {
  const metrics = createMetrics()
  const { log, lines } = createMemoryLog()
  const notify = notifyOver(bus)
  const engine = createEngine(
    {
      sql,
      notify,
      settle: createTestSettle(sql, undefined, { notify }),
      bus,
      hot,
      lock,
      types: types ?? scriptedTypes(provider.name),
      providers: new Map([[provider.name, provider]]),
      log,
      metrics,
      random,
    },
    { ...defaultEngineOptions, idleMs: 5, leaseMarginMs: 500, progressEveryMs: 0, ...options },
  )
  engine.start()
  return {
    engine,
    bus,
    logLines: lines,
    async metric(name, labels = '') {
      const text = await metrics.registry.metrics()
      const line = text
        .split('\n')
        .find((candidate) => candidate.startsWith(`${name}{`) && candidate.includes(labels))
      return line === undefined ? undefined : Number(line.split(' ').at(-1))
    },
  }
}
