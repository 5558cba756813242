import { pollDelay, retryDelay } from '../poller/poll-delay.ts'
import type { Provider } from '../providers/provider.ts'
import { type Settlement, settleTask } from '../tasks/settle-task.ts'
import { writeProgress } from '../tasks/write-progress.ts'
import type { ClaimedWork } from './claim-work.ts'
import type { EngineContext } from './engine-context.ts'

/**
 * A task fails by its deadline only after a poll that told us it is still unfinished. If no poll has told us
 * anything for this long past the deadline, it is given up all the same.
 */
const HARD_LIMIT_PAST_DEADLINE_MS = 24 * 60 * 60_000

const DEADLINE_EXCEEDED: Settlement = {
  status: 'failed',
  failure: {
    code: 'DEADLINE_EXCEEDED',
    message: 'It was not finished in the time allowed for it. You can retry it.',
    retryable: true,
  },
}

const TASK_NOT_FOUND: Settlement = {
  status: 'failed',
  failure: {
    code: 'TASK_NOT_FOUND',
    message: 'The generation service no longer knows this task. You can retry it.',
    retryable: true,
  },
}

/** Asks the provider about one task and writes down what it said, if anything. */
export async function runPoll(context: EngineContext, provider: Provider, work: ClaimedWork): Promise<void> {
  const { sql, bus, types } = context
  const log = context.log.child({ taskId: work.taskId, traceId: work.traceId, provider: work.provider })
  const fence = { workId: work.workId, epoch: work.epoch }
  if (work.externalId === null) throw new Error(`poll work ${work.workId} of a task that was never accepted`)

  async function settle(settlement: Settlement, decidedByUs = false): Promise<void> {
    const result = await settleTask(sql, work.taskId, settlement, decidedByUs ? fence : undefined)
    if (result.kind !== 'settled') return
    log.info({ status: settlement.status, polls: work.polls }, 'settled')
    bus.publish(result.userId)
  }

  const outcome = await provider.query(work.externalId, context.stopping)
  const overdueMs = work.overdueMs ?? Number.NEGATIVE_INFINITY

  switch (outcome.kind) {
    case 'succeeded':
      return settle({ status: 'completed', outputs: outcome.outputs })
    case 'failed':
      return settle({
        status: 'failed',
        failure: { code: outcome.code, message: outcome.message, retryable: outcome.retryable },
      })
    case 'cancelled':
      return settle({ status: 'cancelled' })
    case 'not-found':
      if (work.ageMs > provider.limits.notFoundGraceMs) return settle(TASK_NOT_FOUND, true)
      break
    case 'running':
      if (overdueMs >= 0) return settle(DEADLINE_EXCEEDED, true)
      if (outcome.progress !== null && outcome.progress > (work.progress ?? -1)) {
        const userId = await writeProgress(sql, work.taskId, outcome.progress)
        if (userId) bus.publish(userId)
      }
      break
    case 'inconclusive':
      if (context.stopping.aborted) {
        context.reschedule.add({ ...fence, delayMs: 0 })
        return
      }
      log.warn({ reason: outcome.reason, polls: work.polls }, 'the poll told nothing')
      if (overdueMs >= HARD_LIMIT_PAST_DEADLINE_MS) return settle(DEADLINE_EXCEEDED, true)
      break
  }

  const delayMs = pollDelay({
    polls: work.polls,
    watched: bus.isWatched(work.userId),
    watchedPollMs: types[work.type]?.watchedPollMs ?? provider.limits.minPollMs,
    minPollMs: provider.limits.minPollMs,
    random: context.random(),
  })
  const retryAfterMs = outcome.kind === 'inconclusive' ? outcome.retryAfterMs : null
  context.reschedule.add({
    ...fence,
    delayMs:
      retryAfterMs === null
        ? delayMs
        : Math.max(delayMs, retryDelay({ attempt: 0, random: context.random(), floorMs: retryAfterMs })),
  })
}
