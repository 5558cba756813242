import { randomUUID } from 'node:crypto'
import type { Lane } from '@holdfast/shared'
import type { Logger } from 'pino'
import type { Alert } from '../alerts/alert.ts'
import type { MirrorOptions } from '../artifacts/mirror-options.ts'
import type { SourceOpener } from '../artifacts/source/open-source.ts'
import type { Bus } from '../bus/bus.ts'
import { gather } from '../concurrency/gather.ts'
import type { Sql } from '../database/connect.ts'
import { isDatabaseAway } from '../database/database-errors.ts'
import type { WebhookEndpoint } from '../deliveries/endpoint.ts'
import { keepRegistered } from '../deliveries/keep-registered.ts'
import type { HotStore } from '../hot/hot-store.ts'
import { createMemoryHot } from '../hot/memory-hot.ts'
import type { Lock } from '../locks/lock.ts'
import type { Metrics } from '../metrics/metrics.ts'
import type { ObjectStore } from '../objects/object-store.ts'
import { logFailure } from '../outage-log.ts'
import { createDurationLearner, type DurationLearner } from '../poller/learn-durations.ts'
import { pollDelay } from '../poller/poll-delay.ts'
import type { Provider } from '../providers/provider.ts'
import { runSweeps } from '../sweeps/run-sweeps.ts'
import type { Retention } from '../sweeps/sweep-old-rows.ts'
import { type Acceptance, type AcceptResult, acceptTask } from '../tasks/accept-task.ts'
import { acceptTogether } from '../tasks/accept-together.ts'
import { type Aftermath, createAftermath } from '../tasks/aftermath.ts'
import type { Settle } from '../tasks/create-settle.ts'
import { type Presenter, withoutUrls } from '../tasks/present-tasks.ts'
import type { TaskTypes } from '../tasks/task-types.ts'
import { callbackUrl } from '../webhooks/callback-url.ts'
import { ensureBudgets } from './budgets.ts'
import { createCircuitBreaker } from './circuit-breaker.ts'
import { createBatcher } from './create-batcher.ts'
import { createMirrors } from './create-mirrors.ts'
import type { EngineContext } from './engine-context.ts'
import { ALL_LANES } from './lanes.ts'
import { createProgressWriter } from './progress-writer.ts'
import { type Rescheduled, rescheduleWork } from './reschedule-work.ts'
import { runDeliveries } from './run-deliveries.ts'
import { runProvider } from './run-provider.ts'
import { untilPrepared } from './until-prepared.ts'
import { createWakeable, type Wakeable } from './wakeable.ts'
import { watchWork } from './watch-work.ts'
import type { WorkKind } from './work-kind.ts'

export interface EngineOptions {
  /** How often to look for due work when nothing wakes the engine. @default 250 */
  idleMs: number
  /** What a claim is good for on top of the provider's call limit. @default 5000 */
  leaseMarginMs: number
  /** How long a stop waits for what is under way. @default 15000 */
  stopWithinMs: number
  /** The lanes that this process serves. @default all */
  lanes: readonly Lane[]
  /** How often what was learned about durations is written and planned with. @default 15000 */
  planEveryMs: number
  /** The least time between two writes of a task's progress to the database. @default 5000 */
  progressEveryMs: number
  /** How often deadlines, waiting tasks and silent tasks are looked after. @default 60000 */
  sweepEveryMs: number
  /** How often work that nobody claims is looked for. @default 20000 */
  watchEveryMs: number
}

export const defaultEngineOptions: EngineOptions = {
  idleMs: 250,
  leaseMarginMs: 5_000,
  stopWithinMs: 15_000,
  lanes: ALL_LANES,
  planEveryMs: 15_000,
  progressEveryMs: 5_000,
  sweepEveryMs: 60_000,
  watchEveryMs: 20_000,
}

export interface Engine {
  start(): void
  /** Look for due work now. */
  wake(): void
  /** Stops claiming, sees creates through, hands unfinished polls back. Idempotent. */
  stop(): Promise<void>
}

export interface EngineParts {
  sql: Sql
  /** Ends tasks, together with what joins their end. */
  settle: Settle
  /** What may still happen to tasks that have ended. @default nobody joins it */
  aftermath?: Aftermath | undefined
  bus: Bus
  lock: Lock
  types: TaskTypes
  providers: ReadonlyMap<string, Provider>
  log: Logger
  metrics: Metrics
  random?: () => number
  /** Where progress goes before it goes to the database. @default this process's memory */
  hot?: HotStore | undefined
  /** Where result files are kept. @default nowhere: they stay at their providers */
  objects?: ObjectStore | undefined
  /** Fetches result files from their providers. */
  source?: SourceOpener | undefined
  mirror?: Partial<MirrorOptions> | undefined
  /** Tells an operator. @default nobody */
  alert?: Alert | undefined
  retention?: Retention
  /** Who is told of what happens to tasks. @default nobody */
  webhooks?: readonly WebhookEndpoint[] | undefined
  /** How tasks are shown to them. @default without the URLs of stored files */
  present?: Presenter | undefined
  /** Where providers can reach this server from outside; without it they are only polled. */
  publicUrl?: string | undefined
}

/**
 * Runs each provider's work, and the sweeps, while holding the lock for it. Without a lock (`LOCK=none`) all replicas
 * claim side by side: nothing here rests on being alone.
 */
export function createEngine(parts: EngineParts, options: EngineOptions = defaultEngineOptions): Engine {
  const { sql, settle, bus, lock, types, providers, log, metrics, random = Math.random } = parts
  const { alert = () => {}, aftermath = createAftermath([]) } = parts
  const stopping = new AbortController()
  const givenUp = new AbortController()
  const replica = randomUUID()
  const mirrors = createMirrors({
    ...{ sql, bus, aftermath, providers, log, metrics, random },
    ...{ objects: parts.objects, source: parts.source, mirror: parts.mirror, alert: parts.alert },
    ...{ idleMs: options.idleMs, stopping: stopping.signal, givenUp: givenUp.signal },
  })
  const deliveryAlarm = createWakeable()
  const accept = gather<Acceptance, AcceptResult>({
    async together(accepted) {
      const started = await acceptTogether(sql, accepted)
      return started.map((one) => one && { kind: 'running', ...one })
    },
    alone: (accepted) => acceptTask(sql, accepted, aftermath),
    isHopeless: isDatabaseAway,
  })
  const progress = createProgressWriter({
    sql,
    bus,
    log,
    hot: parts.hot ?? createMemoryHot(),
    writeEveryMs: options.progressEveryMs,
  })
  const alarms = new Map([...providers.keys()].map((name) => [name, createAlarms()]))
  let running: Promise<unknown> | undefined

  /** Does `work` whenever this process holds the lock, until the engine stops. */
  async function whileHolding(name: string, work: (until: AbortSignal) => Promise<void>): Promise<void> {
    while (!stopping.signal.aborted) {
      const held = await lock.acquire(name, stopping.signal).catch(() => null)
      if (!held) return
      metrics.holds(name, true)
      // At once, although what is under way still has to end: two must not both say that they hold it.
      held.lost.addEventListener('abort', () => metrics.holds(name, false), { once: true })
      try {
        await work(AbortSignal.any([stopping.signal, held.lost]))
      } catch (error) {
        logFailure(log, error, 'work under a lock broke off; starting it again', { name }, 'error')
      } finally {
        metrics.holds(name, false)
        await held.release()
      }
    }
  }

  async function work(provider: Provider, until: AbortSignal): Promise<void> {
    const ofProvider = alarms.get(provider.name) ?? createAlarms()
    const leaseMs = provider.limits.callTimeoutMs + options.leaseMarginMs
    const ownTypes = Object.keys(types).filter((name) => types[name]?.provider === provider.name)
    const learner = createDurationLearner({ sql, provider, types: ownTypes, log })
    const reschedule = createBatcher<Rescheduled>({
      write: async (batch) => metrics.refused(provider.name, await rescheduleWork(sql, batch)),
      onError: (error) =>
        logFailure(log, error, 'due times could not be written; those polls come a little later'),
    })
    const context: EngineContext = {
      sql,
      settle,
      accept,
      aftermath,
      bus,
      types,
      log,
      random,
      metrics,
      reschedule,
      leaseMs,
      breaker: createCircuitBreaker(),
      learn: learner.learn,
      progress,
      expectedMs: learner.expectedMs,
      firstPollMs: (type, userId) => firstPollMs(provider, learner, type, userId),
      callbackUrl: (task) => callbackUrl(parts.publicUrl, task),
      mirrors: mirrors?.alarm ?? null,
      stopping: until,
      givenUp: givenUp.signal,
    }
    await untilPrepared(context, ofProvider.submit, async () => {
      await ensureBudgets(sql, provider)
      await learner.start()
    })
    const planning = setInterval(() => void learner.flush(), options.planEveryMs)
    try {
      await runProvider(context, {
        provider,
        lanes: options.lanes,
        replica,
        idleMs: options.idleMs,
        alarms: ofProvider,
      })
    } finally {
      clearInterval(planning)
      await reschedule.flush()
      await progress.flush()
      await learner.flush()
    }
  }

  function firstPollMs(provider: Provider, learner: DurationLearner, type: string, userId: string): number {
    const { minPollMs } = provider.limits
    const planned = learner.firstPollMs(type, random())
    if (!bus.isWatched(userId)) return planned
    return Math.min(
      planned,
      pollDelay({ watchedPollMs: types[type]?.watchedPollMs ?? minPollMs, minPollMs, random: random() }),
    )
  }

  /** Tells the app's own endpoints, if there are any: in every replica, without a lock. */
  async function deliver(): Promise<void> {
    const { webhooks = [], present = withoutUrls } = parts
    if (webhooks.length === 0) return
    const endpoints = new Map(webhooks.map((endpoint) => [endpoint.name, endpoint]))
    await Promise.all([
      keepRegistered({ sql, endpoints: webhooks, log, alert, stopping: stopping.signal }),
      runDeliveries(
        { sql, endpoints, present, log, metrics, random, stopping: stopping.signal },
        { alarm: deliveryAlarm, idleMs: options.idleMs },
      ),
    ])
  }

  return {
    start() {
      running ??= Promise.all([
        // In every replica, without a lock.
        mirrors?.run(),
        deliver(),
        watchWork({ sql, log, metrics, alert, everyMs: options.watchEveryMs, stopping: stopping.signal }),
        ...[...providers.values()].map((provider) =>
          whileHolding(`provider:${provider.name}`, (until) => work(provider, until)),
        ),
        whileHolding('sweeps', (until) =>
          runSweeps({ ...parts, alert, everyMs: options.sweepEveryMs, until }),
        ),
      ])
    },
    wake() {
      for (const ofProvider of alarms.values()) {
        for (const alarm of Object.values(ofProvider)) alarm.wake()
      }
      mirrors?.alarm.wake()
      deliveryAlarm.wake()
    },
    async stop() {
      stopping.abort()
      let timer: NodeJS.Timeout | undefined
      const tooLong = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, options.stopWithinMs)
      })
      await Promise.race([running, tooLong])
      clearTimeout(timer)
      givenUp.abort()
      await lock.close()
    },
  }
}

function createAlarms(): Record<WorkKind, Wakeable> {
  return { submit: createWakeable(), poll: createWakeable(), cancel: createWakeable() }
}
