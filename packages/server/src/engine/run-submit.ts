import { retryDelay } from '../poller/poll-delay.ts'
import type { Provider } from '../providers/provider.ts'
import { acceptTask } from '../tasks/accept-task.ts'
import { markSending, unmarkSending } from '../tasks/mark-sending.ts'
import { type Settlement, settleTask } from '../tasks/settle-task.ts'
import type { ClaimedWork } from './claim-work.ts'
import type { EngineContext } from './engine-context.ts'
import { untilWritten } from './until-written.ts'

/**
 * A mark older than this is not sent on: the process may have slept in between, and somebody else may have given
 * the task up as unknown by now.
 */
const SEND_WITHIN_MS = 2_000

const SUBMIT_UNKNOWN: Settlement = {
  status: 'failed',
  failure: {
    code: 'SUBMIT_UNKNOWN',
    message:
      'The request was sent, but the answer was lost, so we cannot tell whether it was accepted. It was not sent again, so that it is not paid for twice. You can retry it.',
    retryable: true,
  },
}

/** Sends one task to its provider: at most once, whatever dies in between. */
export async function runSubmit(
  context: EngineContext,
  provider: Provider,
  work: ClaimedWork,
): Promise<void> {
  const { sql, bus, types } = context
  const log = context.log.child({ taskId: work.taskId, traceId: work.traceId, provider: work.provider })
  const fence = { workId: work.workId, epoch: work.epoch }

  async function settle(settlement: Settlement): Promise<void> {
    const result = await untilWritten(() => settleTask(sql, work.taskId, settlement), log, context.givenUp)
    if (result.kind === 'settled') bus.publish(result.userId)
  }

  if (work.sendingAt) {
    // Whoever marked it is gone, or its answer is later than any answer may be.
    log.warn({ sendingAt: work.sendingAt }, 'the reply to a create was lost')
    const result = await settleTask(sql, work.taskId, SUBMIT_UNKNOWN, fence)
    if (result.kind === 'settled') bus.publish(result.userId)
    return
  }

  const type = types[work.type]
  if (!type) {
    await settle(refused(`This server no longer offers "${work.type}".`))
    return
  }

  const before = performance.now()
  if (!(await markSending(sql, work.taskId, fence))) return
  if (performance.now() - before > SEND_WITHIN_MS) {
    await unmarkSending(sql, work.taskId, fence, {
      delayMs: 0,
      countAttempt: false,
      reason: 'marked too long ago to send',
    })
    return
  }

  // Not aborted by a stop: a create that was cut off would be an unknown one.
  const outcome = await provider.create(
    { taskId: work.taskId, type: work.type, params: work.params },
    new AbortController().signal,
  )

  switch (outcome.kind) {
    case 'accepted': {
      // Logged first: if nothing else survives, the operator can still find what was paid for.
      log.info({ externalId: outcome.externalId }, 'accepted')
      const result = await untilWritten(
        () =>
          acceptTask(sql, {
            taskId: work.taskId,
            externalId: outcome.externalId,
            provider: provider.name,
            deadlineMs: type.deadlineMs,
            expectedMs: type.expectedMs,
            firstPollMs: Math.max(provider.limits.minPollMs, type.watchedPollMs),
            canCancel: provider.cancel !== undefined,
          }),
        log,
        context.givenUp,
      )
      if (result.kind === 'running') bus.publish(result.userId)
      return
    }
    case 'refused':
      log.warn({ code: outcome.code }, 'the provider refused the task')
      await settle({
        status: 'failed',
        failure: { code: outcome.code, message: outcome.message, retryable: outcome.retryable },
      })
      return
    case 'unknown':
      log.warn({ reason: outcome.reason }, 'the reply to a create was lost')
      await settle(SUBMIT_UNKNOWN)
      return
    case 'not-accepted': {
      log.warn({ reason: outcome.reason, attempt: work.attempts + 1 }, 'not accepted this time')
      if (work.attempts + 1 >= work.maxAttempts && outcome.retryAfterMs === null) {
        await settle({
          status: 'failed',
          failure: {
            code: 'SUBMIT_UNAVAILABLE',
            message:
              'The generation service could not be reached. Nothing was generated; retry in a few minutes.',
            retryable: true,
          },
        })
        return
      }
      const delayMs = retryDelay({
        attempt: work.attempts + 1,
        random: context.random(),
        floorMs: outcome.retryAfterMs ?? 0,
      })
      await untilWritten(
        () =>
          unmarkSending(sql, work.taskId, fence, {
            delayMs,
            // Being told to wait is not a failed attempt.
            countAttempt: outcome.retryAfterMs === null,
            reason: outcome.reason,
          }),
        log,
        context.givenUp,
      )
    }
  }
}

function refused(message: string): Settlement {
  return { status: 'failed', failure: { code: 'SUBMIT_REFUSED', message, retryable: false } }
}
