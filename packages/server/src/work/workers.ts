import { randomUUID } from 'node:crypto'
import type { Lane } from '@holdfast/shared'
import type { Logger } from 'pino'
import type { Alert } from '../alerts/alert.ts'
import type { SourceOpener } from '../artifacts/source/open-source.ts'
import type { Bus } from '../bus/bus.ts'
import type { WriteContext } from '../bus/create-notify.ts'
import { createBatcher } from '../concurrency/batcher.ts'
import { ensureBudgets } from '../engine/budgets.ts'
import { createCircuitBreaker } from '../engine/circuit-breaker.ts'
import { ALL_LANES } from '../engine/lanes.ts'
import { lookForWork } from '../engine/look-for-work.ts'
import { runWork } from '../engine/run-work.ts'
import { watchWork } from '../engine/watch-work.ts'
import { ENDPOINTS, STORE, type WorkHint } from '../engine/work-queue.ts'
import type { HotStore } from '../hot/hot-store.ts'
import { createMemoryHot } from '../hot/memory-hot.ts'
import type { Lock } from '../locks/lock.ts'
import type { Metrics } from '../metrics/metrics.ts'
import type { ObjectStore } from '../objects/object-store.ts'
import { logFailure } from '../outage-log.ts'
import type { Provider } from '../providers/provider.ts'
import { runSweeps } from '../sweeps/run-sweeps.ts'
import type { Retention } from '../sweeps/sweep-old-rows.ts'
import { type Aftermath, createAftermath } from '../tasks/aftermath.ts'
import type { Settle } from '../tasks/create-settle.ts'
import { type Presenter, withoutUrls } from '../tasks/present-tasks.ts'
import type { TaskTypes } from '../tasks/task-types.ts'
import { callbackUrl } from '../webhooks/callback-url.ts'
import { createProviderCalls } from './call-provider.ts'
import type { MirrorOptions } from './copy/copy-options.ts'
import { createCopies } from './copy/create-copies.ts'
import { createDeliverKind } from './deliver/deliver-kind.ts'
import type { WebhookEndpoint } from './deliver/endpoint.ts'
import { keepRegistered } from './deliver/keep-registered.ts'
import { createDurationLearner, type DurationLearner } from './poll/learn-durations.ts'
import { pollDelay } from './poll/poll-delay.ts'
import { createProgressWriter } from './poll/progress-writer.ts'
import { type Rescheduled, reschedulePolls } from './poll/reschedule-polls.ts'
import type { ProviderContext } from './provider-context.ts'
import { runProvider } from './provider-work.ts'
import { createAccept } from './send/create-accept.ts'
import { untilPrepared } from './until-prepared.ts'
import { createWakeUps } from './wake-ups.ts'

export interface EngineOptions {
  /** How often to look for due work that nobody has told of. @default 5000 */
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
  idleMs: 5_000,
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
  /** There is work, of that kind or perhaps of any: look for it now. */
  wake(hint?: WorkHint | null): void
  /** Stops claiming, sees creates through, hands unfinished polls back. Idempotent. */
  stop(): Promise<void>
}

export interface EngineParts extends WriteContext {
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
  const { sql, notify, settle, bus, lock, types, providers, log, metrics, random = Math.random } = parts
  const { alert = () => {}, aftermath = createAftermath([]) } = parts
  const stopping = new AbortController()
  const givenUp = new AbortController()
  const replica = randomUUID()
  const wakeUps = createWakeUps()
  const copyFiles = createCopies({
    ...{ sql, notify, aftermath, providers, log, metrics, random },
    ...{ objects: parts.objects, source: parts.source, mirror: parts.mirror, alert: parts.alert },
    ...{ stopping: stopping.signal, givenUp: givenUp.signal },
  })
  const accept = createAccept({ sql, notify, aftermath })
  const progress = createProgressWriter({
    sql,
    bus,
    log,
    hot: parts.hot ?? createMemoryHot(),
    writeEveryMs: options.progressEveryMs,
    onWritten: () => notify.dueHere('deliver', ENDPOINTS),
  })
  let running: Promise<unknown> | undefined

  function wake(hint?: WorkHint | null): void {
    if (hint) wakeUps.due(hint.kind, hint.of, hint.inMs)
    else wakeUps.wakeAll()
  }
  const leaveBus = bus.onWork(wake)

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
    const leaseMs = provider.limits.callTimeoutMs + options.leaseMarginMs
    const ownTypes = Object.keys(types).filter((name) => types[name]?.provider === provider.name)
    const learner = createDurationLearner({ sql, provider, types: ownTypes, log })
    const reschedule = createBatcher<Rescheduled>({
      write: async (batch) => metrics.refused(provider.name, await reschedulePolls(sql, batch)),
      onError: (error) =>
        logFailure(log, error, 'due times could not be written; those polls come a little later'),
    })
    const context: ProviderContext = {
      sql,
      notify,
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
      calls: createProviderCalls(provider, { log, metrics, stopping: until }),
      copiesFiles: copyFiles !== undefined,
      stopping: until,
      givenUp: givenUp.signal,
    }
    await untilPrepared(context, wakeUps.of('send', provider.name), async () => {
      await ensureBudgets(sql, provider)
      await learner.start()
    })
    const planning = setInterval(() => void learner.flush(), options.planEveryMs)
    try {
      await runProvider(context, { provider, lanes: options.lanes, replica, wakeUps })
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
      runWork(
        createDeliverKind({
          sql,
          notify,
          endpoints,
          present,
          log,
          metrics,
          random,
          stopping: stopping.signal,
        }),
        { log, wakeUp: wakeUps.of('deliver', ENDPOINTS), stopping: stopping.signal },
      ),
    ])
  }

  return {
    start() {
      running ??= Promise.all([
        // In every replica, without a lock.
        copyFiles?.(wakeUps.of('copy', STORE)),
        deliver(),
        lookForWork({
          ...{ sql, log, lanes: options.lanes, everyMs: options.idleMs, stopping: stopping.signal },
          queues: wakeUps.queues,
          due: ({ kind, of }, inMs) => wakeUps.due(kind, of, inMs),
        }),
        watchWork({ sql, log, metrics, alert, everyMs: options.watchEveryMs, stopping: stopping.signal }),
        ...[...providers.values()].map((provider) =>
          whileHolding(lockName(provider, options.lanes), (until) => work(provider, until)),
        ),
        whileHolding('sweeps', (until) =>
          runSweeps({ ...parts, alert, everyMs: options.sweepEveryMs, until }),
        ),
      ])
    },
    wake,
    async stop() {
      stopping.abort()
      let timer: NodeJS.Timeout | undefined
      const tooLong = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, options.stopWithinMs)
      })
      await Promise.race([running, tooLong])
      clearTimeout(timer)
      givenUp.abort()
      leaveBus()
      wakeUps.clear()
      await lock.close()
    },
  }
}

/** Processes that serve different lanes of a provider do not stand by for each other. */
function lockName({ name }: Provider, lanes: readonly Lane[]): string {
  const isPinned = lanes.length < ALL_LANES.length
  return isPinned ? `provider:${name}:${lanes.toSorted().join('+')}` : `provider:${name}`
}
