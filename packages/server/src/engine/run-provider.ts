import type { Lane } from '@holdfast/shared'
import type { Logger } from 'pino'
import { logFailure, outageLogOf } from '../outage-log.ts'
import type { Provider } from '../providers/provider.ts'
import { burstOf, returnShares } from './budgets.ts'
import type { ClaimOptions } from './claim.ts'
import { claimCancels } from './claim-cancels.ts'
import { claimPolls } from './claim-polls.ts'
import { claimSubmits } from './claim-submits.ts'
import { createLine } from './create-line.ts'
import { createTurns, type TakeTurn } from './create-turns.ts'
import type { EngineContext } from './engine-context.ts'
import { runCancel } from './run-cancel.ts'
import { handBack, runPoll } from './run-poll.ts'
import { runSubmit } from './run-submit.ts'
import type { Wakeable } from './wakeable.ts'
import { OPERATION_OF, type Operation, type WorkKind } from './work-kind.ts'

export interface ProviderRunOptions {
  provider: Provider
  lanes: readonly Lane[]
  replica: string
  idleMs: number
  /** One each, so that a wake-up reaches all. */
  alarms: Record<WorkKind, Wakeable>
}

/** How much of each operation is under way, what waits for its turn included, and whose turn it is to claim more. */
type UnderWay = Record<Operation, { count: number; takeTurn: TakeTurn }>

const PAUSE_WHEN_AWAY_MS = 1_000

/** More cost as much per step, and the first of them would wait longer. */
const MOST_PER_CLAIM = 1_000

interface Step {
  workId: string
  taskId: string
  traceId: string | null
  lane: string
  lagMs: number
}

interface Claimed<T> {
  work: T
  isProbe: boolean
  /** Just before it was, by this process's own clock. */
  claimedAt: number
}

/**
 * Claims and runs one provider's work until told to stop, then waits for what is under way. Each kind has a loop of
 * its own, so that a flood of polls does not hold submits up.
 */
export async function runProvider(context: EngineContext, options: ProviderRunOptions): Promise<void> {
  const { provider } = options
  const underWay: UnderWay = {
    create: { count: 0, takeTurn: createTurns() },
    query: { count: 0, takeTurn: createTurns() },
  }
  await Promise.all([
    pump(
      context,
      options,
      underWay,
      'submit',
      (sql, claim) => claimSubmits(sql, { ...claim, types: Object.keys(context.types) }),
      runSubmit,
    ),
    pump(context, options, underWay, 'poll', claimPolls, runPoll, handBack),
    ...(provider.cancel ? [pump(context, options, underWay, 'cancel', claimCancels, runCancel)] : []),
  ])
  await returnShares(context.sql, provider.name, options.replica).catch((error: unknown) => {
    context.log.debug({ err: error }, 'shares expire by themselves')
  })
}

async function pump<T extends Step>(
  context: EngineContext,
  { provider, lanes, replica, idleMs, alarms }: ProviderRunOptions,
  underWay: UnderWay,
  kind: WorkKind,
  claim: (sql: EngineContext['sql'], options: ClaimOptions) => Promise<T[]>,
  run: (context: EngineContext, provider: Provider, work: T, claimedAt: number) => Promise<void>,
  handBack?: (context: EngineContext, work: T) => void,
): Promise<void> {
  const { sql, stopping, breaker, metrics, log, leaseMs } = context
  const database = outageLogOf(log, 'PostgreSQL')
  const alarm = alarms[kind]
  const operation = OPERATION_OF[kind]
  const own = underWay[operation]
  const limit = provider.limits[operation]
  // Half of the calls may end before the next claim: fewer, larger claims, and the connections never run dry.
  const refillAt = Math.max(1, Math.ceil(limit.inFlight / 2))
  // Half of the time in which the budget fills up: what comes in while it is full is lost, and a pause always takes
  // a little longer than asked for (tried at 50 a second with the whole time: 28 to 38 went out).
  const refillMs = (burstOf(limit) / limit.perSecond) * 500
  // The rest of the claim's time is the call's.
  const mayWaitMs = leaseMs - provider.limits.callTimeoutMs
  const line = createLine(limit.atOnce ?? limit.inFlight, runOne)
  /** Creates under way here. */
  const creating = new Set<string>()

  async function runOne({ work, isProbe, claimedAt }: Claimed<T>): Promise<void> {
    try {
      if (handBack && (stopping.aborted || performance.now() - claimedAt > mayWaitMs)) handBack(context, work)
      else await run(context, provider, work, claimedAt)
    } catch (error) {
      describe(log, error, kind, work)
    }
    if (kind === 'submit') creating.delete(work.workId)
    own.count -= 1
    if (isProbe) breaker.learnedNothing(performance.now())
    if (own.count === limit.inFlight - refillAt) alarm.wake()
  }

  function start(claimed: readonly T[], claimedAt: number, isProbe: boolean): void {
    const works: Claimed<T>[] = []
    for (const work of claimed) {
      // A create that is still under way here is not asked for twice: whoever sees its mark would give it up. A poll
      // that was claimed anew while under way was asked for by somebody who knows more, say a webhook: it is made, and
      // the answer that comes first counts.
      if (kind === 'submit' && creating.has(work.workId)) {
        if (isProbe) breaker.learnedNothing(performance.now())
        continue
      }
      if (kind === 'submit') creating.add(work.workId)
      works.push({ work, isProbe, claimedAt })
    }
    own.count += works.length
    line.add(works)
  }

  /** Claims what there is room for and starts it. Returns how long to wait before the next try. */
  async function fill(): Promise<number> {
    const allowed = breaker.allowed(performance.now())
    metrics.circuit(provider.name, breaker.state)
    metrics.inFlight(provider.name, operation, own.count)
    const room = limit.inFlight - own.count
    if (allowed === 0 || room < refillAt) return idleMs
    const most = Math.min(room, allowed, MOST_PER_CLAIM)
    const claimedAt = performance.now()
    const claimed = await claim(sql, {
      provider: provider.name,
      lanes,
      limit: most,
      replica,
      inFlight: own.count,
      leaseMs,
    })
    if (claimed.length === 0) return idleMs
    const isProbe = allowed === 1
    if (isProbe) breaker.probing()
    metrics.claimed(provider.name, kind, claimed)
    start(claimed, claimedAt, isProbe)
    metrics.inFlight(provider.name, operation, own.count)
    // A full claim means that there may be more at once; a part of one, that the budget or the work ran out.
    return claimed.length === most ? 0 : Math.min(idleMs, refillMs)
  }

  while (!stopping.aborted) {
    try {
      // Polls and cancels share a limit: at the same moment, each would take all the room that is left.
      const pauseMs = await own.takeTurn(fill)
      database.back()
      if (pauseMs > 0) await alarm.pause(pauseMs, stopping)
    } catch (error) {
      logFailure(log, error, 'looking for work failed; trying again', { provider: provider.name, kind })
      await alarm.pause(PAUSE_WHEN_AWAY_MS, stopping)
    }
  }
  await line.drained()
}

/** The claim has already set when the step is tried again. */
function describe(log: Logger, error: unknown, kind: WorkKind, { taskId, traceId }: Step): void {
  logFailure(log, error, 'a step could not be finished', { kind, taskId, traceId }, 'error')
}
