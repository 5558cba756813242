import { giveUp } from '../../dead-letters/give-up.ts'
import { pauseBudget } from '../../engine/budgets.ts'
import type { Provider, QueryOutcome } from '../../providers/provider.ts'
import type { SettleResult } from '../../tasks/settle-task.ts'
import type { ProviderContext } from '../provider-context.ts'
import type { ClaimedPoll } from './claim-polls.ts'
import { decidePoll, type PollAction } from './poll-actions.ts'
import { pollDelay, retryDelay } from './poll-delay.ts'
import type { Rescheduled } from './reschedule-polls.ts'

/** Due times are written together, a moment later. */
const WRITTEN_WITHIN_MS = 50

/** Asks the provider about one task and writes down what it said, if anything. */
export async function runPoll(
  context: ProviderContext,
  provider: Provider,
  work: ClaimedPoll,
): Promise<void> {
  const outcome = await context.calls.query(work, work.externalId)
  if (outcome.kind === 'inconclusive') {
    if (context.stopping.aborted) return handBack(context, provider, work)
    await noteSilence(context, provider, work, outcome)
  } else {
    context.breaker.succeeded()
  }

  const action = decidePoll(outcome, {
    ageMs: work.ageMs,
    overdueMs: work.overdueMs,
    notFoundGraceMs: provider.limits.notFoundGraceMs,
    copiesFiles: context.copiesFiles,
  })
  switch (action.do) {
    case 'end':
      return end(context, provider, work, action)
    case 'ask again':
      return askAgain(context, provider, work, action.retryAfterMs)
    case 'go on':
      if (action.progress) report(context, work, action.progress)
      return comeBack(context, provider, work)
  }
}

/** Makes a poll that was not made due again. Nothing was learned, so nothing is counted. */
export function handBack(
  context: ProviderContext,
  provider: Provider,
  { workId, epoch, taskId }: ClaimedPoll,
): void {
  comeDue(context, provider, { workId, epoch, taskId, delayMs: 0, heard: null })
}

async function end(
  context: ProviderContext,
  provider: Provider,
  work: ClaimedPoll,
  { settlement, by, took, letter }: Extract<PollAction, { do: 'end' }>,
): Promise<void> {
  const { log, metrics } = context
  const { taskId, traceId, workId, epoch, polls } = work
  if (took) {
    context.learn(work.type, { afterMs: Math.max(0, work.ageMs - previousInterval(work)), byMs: work.ageMs })
  }
  const options = {
    fence: by === 'us' ? { workId, epoch } : undefined,
    progress: context.progress.take(taskId),
    about: work,
  }
  const result: SettleResult =
    letter === null
      ? await context.settle(taskId, settlement, options)
      : await giveUp(
          context.settle,
          settlement,
          { ...work, kind: 'poll', provider: provider.name, reason: letter },
          options,
        )
  metrics.settled(provider.name, settlement.status, result.kind)
  if (result.kind !== 'settled') return
  log.info({ taskId, traceId, provider: provider.name, status: settlement.status, polls }, 'settled')
  if (letter !== null) metrics.deadLettered(provider.name, 'poll')
}

/** Says how far it is, unless that is what everybody knows: most polls find nothing new. */
function report(
  context: ProviderContext,
  work: ClaimedPoll,
  { progress, queuePosition }: { progress: number | null; queuePosition: number | null },
): void {
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

async function noteSilence(
  { log, breaker, sql }: ProviderContext,
  provider: Provider,
  { taskId, traceId, polls }: ClaimedPoll,
  { reason, retryAfterMs }: Extract<QueryOutcome, { kind: 'inconclusive' }>,
): Promise<void> {
  log.warn({ taskId, traceId, provider: provider.name, reason, polls }, 'the poll told nothing')
  if (retryAfterMs === null) breaker.failed(performance.now())
  else await pauseBudget(sql, provider.name, 'query', retryAfterMs)
}

function askAgain(
  context: ProviderContext,
  provider: Provider,
  work: ClaimedPoll,
  retryAfterMs: number | null,
): void {
  const { workId, epoch, taskId } = work
  const patience = retryDelay({
    attempt: work.attempts + 1,
    random: context.random(),
    floorMs: retryAfterMs ?? 0,
  })
  const delayMs = Math.max(delayOf(context, provider, work), patience)
  comeDue(context, provider, { workId, epoch, taskId, delayMs, heard: false })
}

/** The claim has set the planned time already; only what differs from it is written. */
function comeBack(context: ProviderContext, provider: Provider, work: ClaimedPoll): void {
  const { workId, epoch, taskId } = work
  const delayMs = delayOf(context, provider, work)
  if (delayMs >= Math.max(context.leaseMs, work.plannedMs) && !work.silent) return
  comeDue(context, provider, { workId, epoch, taskId, delayMs, heard: true })
}

/** Sets another due time than the claim has set, and wakes the loop then. */
function comeDue({ reschedule, notify }: ProviderContext, provider: Provider, polled: Rescheduled): void {
  reschedule.add(polled)
  notify.dueHere('poll', provider.name, polled.delayMs + WRITTEN_WITHIN_MS)
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
