import { giveUp } from '../../dead-letters/give-up.ts'
import { pauseBudget } from '../../engine/budgets.ts'
import type { Provider, QueryOutcome } from '../../providers/provider.ts'
import { tidyUsage } from '../../providers/tidy-usage.ts'
import type { Settlement } from '../../tasks/settle-task.ts'
import type { ProviderContext } from '../provider-context.ts'
import type { ClaimedPoll } from './claim-polls.ts'
import { pollDelay, retryDelay } from './poll-delay.ts'
import type { Rescheduled } from './reschedule-polls.ts'

/**
 * A task fails by its deadline only after a poll that told us it is still unfinished. If no poll has told us
 * anything for this long past the deadline, it is given up all the same.
 */
export const HARD_LIMIT_PAST_DEADLINE_MS = 24 * 60 * 60_000

export const DEADLINE_EXCEEDED: Settlement = {
  status: 'failed',
  failure: {
    code: 'DEADLINE_EXCEEDED',
    message: 'It was not finished in the time allowed for it. You can retry it.',
    retryable: true,
  },
}

/** Due times are written together, a moment later. */
const WRITTEN_WITHIN_MS = 50

const TASK_NOT_FOUND: Settlement = {
  status: 'failed',
  failure: {
    code: 'TASK_NOT_FOUND',
    message: 'The generation service no longer knows this task. You can retry it.',
    retryable: true,
  },
}

/** Asks the provider about one task and writes down what it said, if anything. */
export async function runPoll(
  context: ProviderContext,
  provider: Provider,
  work: ClaimedPoll,
): Promise<void> {
  const { metrics, breaker } = context
  let outcome: QueryOutcome
  try {
    outcome = await provider.query(work.externalId, context.stopping)
  } catch (error) {
    // A bug in an adapter must not end anybody's task.
    context.log.error(
      { err: error, taskId: work.taskId, traceId: work.traceId, provider: provider.name },
      'the adapter threw',
    )
    outcome = { kind: 'inconclusive', reason: 'the adapter threw', retryAfterMs: null }
  }
  metrics.polled(provider.name, outcome.kind)

  if (outcome.kind === 'inconclusive') return heardNothing(context, provider, work, outcome)
  breaker.succeeded()

  switch (outcome.kind) {
    case 'succeeded':
      context.learn(work.type, {
        afterMs: Math.max(0, work.ageMs - previousInterval(work)),
        byMs: work.ageMs,
      })
      return settle(context, provider, work, {
        status: 'completed',
        outputs: outcome.outputs,
        mirror: context.copiesFiles,
        usage: tidyUsage(outcome.usage),
      })
    case 'failed': {
      context.learn(work.type, {
        afterMs: Math.max(0, work.ageMs - previousInterval(work)),
        byMs: work.ageMs,
      })
      const { code, message, retryable } = outcome
      return settle(context, provider, work, { status: 'failed', failure: { code, message, retryable } })
    }
    case 'cancelled':
      return settle(context, provider, work, { status: 'cancelled', by: 'provider' })
    case 'not-found':
      if (work.ageMs > provider.limits.notFoundGraceMs) {
        return settle(context, provider, work, TASK_NOT_FOUND, 'decided by us')
      }
      break
    case 'running':
      if (work.overdueMs >= 0) return settle(context, provider, work, DEADLINE_EXCEEDED, 'decided by us')
      report(context, work, outcome)
  }
  comeBack(context, provider, work)
}

/** Says how far it is, unless that is what everybody knows: most polls find nothing new. */
function report(
  context: ProviderContext,
  work: ClaimedPoll,
  outcome: Extract<QueryOutcome, { kind: 'running' }>,
): void {
  const { progress } = outcome
  const queuePosition = outcome.queuePosition ?? null
  const isFurther = progress !== null && progress > (work.progress ?? -1)
  const hasMoved = queuePosition !== work.queuePosition
  // What was said before and is not in the row yet may have been overtaken.
  if (!isFurther && !hasMoved && !context.progress.isWaiting(work.taskId)) return
  context.progress.report({
    taskId: work.taskId,
    userId: work.userId,
    ageMs: work.ageMs,
    progress,
    queuePosition,
    writtenPosition: work.queuePosition,
    expectedMs: (ageMs) => context.expectedMs(work.type, ageMs),
  })
}

/** Makes a poll that was not made due again. Nothing was learned, so nothing is counted. */
export function handBack({ reschedule }: ProviderContext, { workId, epoch, taskId }: ClaimedPoll): void {
  reschedule.add({ workId, epoch, taskId, delayMs: 0, heard: null })
}

/** Sets another due time than the claim has set, and wakes the loop then. */
function comeDue(context: ProviderContext, polled: Rescheduled): void {
  context.reschedule.add(polled)
  context.due('poll', polled.delayMs + WRITTEN_WITHIN_MS)
}

async function settle(
  context: ProviderContext,
  provider: Provider,
  work: ClaimedPoll,
  settlement: Settlement,
  decision: 'a fact' | 'decided by us' = 'a fact',
): Promise<void> {
  const { bus, log, metrics } = context
  const fence = decision === 'a fact' ? undefined : { workId: work.workId, epoch: work.epoch }
  const progress = context.progress.take(work.taskId)
  const isUnreadable = settlement.status === 'failed' && settlement.failure.code === 'RESULT_UNREADABLE'
  const result = isUnreadable
    ? await giveUp(
        context.settle,
        settlement,
        {
          ...work,
          ...{ kind: 'poll', provider: provider.name, reason: settlement.failure.message },
        },
        { progress },
      )
    : await context.settle(work.taskId, settlement, { fence, progress, about: work })
  if (isUnreadable && result.kind === 'settled') metrics.deadLettered(provider.name, 'poll')
  metrics.settled(provider.name, settlement.status, result.kind)
  if (result.kind !== 'settled') return
  log.info(
    {
      taskId: work.taskId,
      traceId: work.traceId,
      provider: provider.name,
      status: settlement.status,
      polls: work.polls,
    },
    'settled',
  )
  bus.publish(result.userId)
  if (settlement.status === 'completed' && context.copiesFiles) context.due('copy')
  if (decision === 'decided by us') context.due('cancel')
}

async function heardNothing(
  context: ProviderContext,
  provider: Provider,
  work: ClaimedPoll,
  outcome: Extract<QueryOutcome, { kind: 'inconclusive' }>,
): Promise<void> {
  const fence = { workId: work.workId, epoch: work.epoch, taskId: work.taskId }
  if (context.stopping.aborted) return handBack(context, work)
  context.log.warn(
    {
      taskId: work.taskId,
      traceId: work.traceId,
      provider: provider.name,
      reason: outcome.reason,
      polls: work.polls,
    },
    'the poll told nothing',
  )
  if (outcome.retryAfterMs === null) context.breaker.failed(performance.now())
  else await pauseBudget(context.sql, provider.name, 'query', outcome.retryAfterMs)
  if (work.overdueMs >= HARD_LIMIT_PAST_DEADLINE_MS) {
    return settle(context, provider, work, DEADLINE_EXCEEDED, 'decided by us')
  }
  const patience = retryDelay({
    attempt: work.attempts + 1,
    random: context.random(),
    floorMs: outcome.retryAfterMs ?? 0,
  })
  comeDue(context, {
    ...fence,
    delayMs: Math.max(delayOf(context, provider, work), patience),
    heard: false,
  })
}

/** The claim has set the planned time already; only what differs from it is written. */
function comeBack(context: ProviderContext, provider: Provider, work: ClaimedPoll): void {
  const delayMs = delayOf(context, provider, work)
  if (delayMs >= Math.max(context.leaseMs, work.plannedMs) && !work.silent) return
  comeDue(context, {
    workId: work.workId,
    epoch: work.epoch,
    taskId: work.taskId,
    delayMs,
    heard: true,
  })
}

function delayOf(context: ProviderContext, provider: Provider, work: ClaimedPoll): number {
  const { minPollMs } = provider.limits
  if (!context.bus.isWatched(work.userId)) return Math.max(minPollMs, work.plannedMs)
  const watchedPollMs = context.types[work.type]?.watchedPollMs ?? minPollMs
  return Math.min(
    Math.max(minPollMs, work.plannedMs),
    pollDelay({ watchedPollMs, minPollMs, random: context.random() }),
  )
}

/** Roughly how long ago it was last found unfinished: what the plan says for now is close to what it said then. */
function previousInterval(work: ClaimedPoll): number {
  return work.polls <= 1 ? work.ageMs : work.plannedMs
}
