import type { Logger } from 'pino'
import { untilWritten } from '../../database/until-written.ts'
import { giveUp } from '../../dead-letters/give-up.ts'
import { pauseBudget } from '../../engine/budgets.ts'
import { BUSY, OUT_OF_REACH } from '../../providers/messages.ts'
import type { CreateOutcome, CreateRequest, Provider } from '../../providers/provider.ts'
import { modelOfTask } from '../../tasks/check-params.ts'
import type { Settlement, SettleResult } from '../../tasks/settle-task.ts'
import { retryDelay } from '../poll/poll-delay.ts'
import type { ProviderContext } from '../provider-context.ts'
import type { ClaimedSend } from './claim-sends.ts'
import { concludeCreate } from './conclude-create.ts'
import { type PutOff, unmarkSending } from './mark-sending.ts'
import { reconcileSend } from './reconcile-send.ts'

/**
 * A mark older than this is not sent on: the process may have slept in between, and somebody else may have given
 * the task up as unknown by now.
 */
const SEND_WITHIN_MS = 2_000

/** Up to 16 s between tries while a provider cannot be reached; the limit for waiting ends it, not a count. */
const UNREACHABLE_STEP = 4

const DEADLINE_WITHOUT_TYPE_MS = 30 * 60_000

const SUBMIT_UNKNOWN: Settlement = {
  status: 'failed',
  failure: {
    code: 'SUBMIT_UNKNOWN',
    message:
      'The request was sent, but the answer was lost, so we cannot tell whether it was accepted. It was not sent again, so that it is not paid for twice. You can retry it.',
    retryable: true,
  },
}

/**
 * Sends one task to its provider: at most once, whatever dies in between.
 *
 * @param markedAt before its mark was committed, by this process's own clock
 */
export async function runSend(
  context: ProviderContext,
  provider: Provider,
  work: ClaimedSend,
  markedAt: number,
): Promise<void> {
  const { sql, bus, types, metrics, breaker } = context
  const log = context.log.child({ taskId: work.taskId, traceId: work.traceId, provider: provider.name })
  const fence = { workId: work.workId, epoch: work.epoch }

  async function settle(
    settlement: Settlement,
    fate: 'not-accepted' | 'lost',
    end: () => Promise<SettleResult>,
  ): Promise<void> {
    const result = await untilWritten(end, log, context.givenUp)
    metrics.settled(provider.name, settlement.status, result.kind)
    if (result.kind === 'settled') bus.publish(result.userId)
    if (result.kind === 'already-ended') await conclude(fate)
  }

  /** A task that was cancelled on the way waits for this: its credits are held until then. False if it was not. */
  async function conclude(fate: 'not-accepted' | 'lost'): Promise<boolean> {
    const concluded = await untilWritten(
      () =>
        concludeCreate(sql, context.aftermath, {
          taskId: work.taskId,
          fate,
          ...(fate === 'lost' ? { fence } : {}),
        }),
      log,
      context.givenUp,
    )
    if (!concluded) return false
    log.info({ fate }, 'the create of a task that was cancelled meanwhile has ended')
    bus.publish(concluded.userId)
    return true
  }

  /** Puts it off: certainly not accepted, so it can be sent again. */
  async function putOff(how: PutOff): Promise<void> {
    const held = await untilWritten(() => unmarkSending(sql, work.taskId, fence, how), log, context.givenUp)
    if (held) context.due('send', how.delayMs)
    if (held && how.lastError !== undefined) bus.publish(work.userId)
    if (!held && !(await conclude('not-accepted'))) metrics.refused(provider.name, 1)
  }

  async function accept(externalId: string): Promise<void> {
    const firstPollMs = context.firstPollMs(work.type, work.userId)
    // Logged first: if nothing else survives, the operator can still find what was paid for.
    log.info({ externalId }, 'accepted')
    const result = await untilWritten(
      () =>
        context.accept({
          taskId: work.taskId,
          externalId,
          provider: provider.name,
          // A type that is no longer offered has nothing to say; what was paid for is still polled for a while.
          deadlineMs: type?.deadlineMs ?? DEADLINE_WITHOUT_TYPE_MS,
          expectedMs: context.expectedMs(work.type, 0) ?? type?.expectedMs ?? 0,
          firstPollMs,
          canCancel: provider.cancel !== undefined,
        }),
      log,
      context.givenUp,
    )
    if (result.userId !== null) bus.publish(result.userId)
    if (result.kind === 'running') context.due('poll', firstPollMs)
    else context.due('cancel')
  }

  async function reconcile(lost: ClaimedSend & { sendingAt: Date }): Promise<void> {
    const reconciled = await reconcileSend(context, provider, lost, request)
    if (reconciled.kind === 'found') return accept(reconciled.externalId)
    if (reconciled.kind === 'later') {
      await sql`
        update holdfast.work set due_at = now() + ${reconciled.delayMs} * interval '1 ms'
        where task_id = ${work.taskId} and kind = 'send' and id = ${fence.workId} and epoch = ${fence.epoch}
      `
      context.due('send', reconciled.delayMs)
      return
    }
    log.warn({ sendingAt: lost.sendingAt }, 'the reply to a create was lost')
    await settle(SUBMIT_UNKNOWN, 'lost', () => context.settle(work.taskId, SUBMIT_UNKNOWN, { fence }))
  }

  const type = types[work.type]
  const model = modelOfTask(type, work.params)
  const request: CreateRequest = {
    taskId: work.taskId,
    type: work.type,
    params: work.params,
    ...(model === undefined ? {} : { model }),
    callbackUrl: context.callbackUrl({
      provider: provider.name,
      taskId: work.taskId,
      secret: work.callbackSecret,
    }),
  }
  if (work.sendingAt) {
    // Whoever holds the answer writes it down any moment now; the claim has put this off for long enough.
    if (work.justBack) return
    // Whoever marked it is gone, or its answer is later than any answer may be.
    await reconcile({ ...work, sendingAt: work.sendingAt })
    return
  }

  if (!type) {
    const settlement = refused(`This server no longer offers "${work.type}".`)
    await settle(settlement, 'not-accepted', () => context.settle(work.taskId, settlement, { fence }))
    return
  }

  // Somebody who is gone had marked it, and an id was told meanwhile: the next claim finds out.
  if (!work.isMarked) return
  if (performance.now() - markedAt > SEND_WITHIN_MS) {
    await putOff({ reason: 'marked too long ago to send', delayMs: 0, countAttempt: false })
    return
  }

  const outcome = withoutSecret(await send({ log, provider, request }), work.callbackSecret)
  metrics.submitted(provider.name, outcome.kind)

  switch (outcome.kind) {
    case 'accepted':
      breaker.succeeded()
      await accept(outcome.externalId)
      return
    case 'refused': {
      breaker.succeeded()
      const { code, message, retryable } = outcome
      log.warn({ code, attempt: work.attempts + 1 }, 'the provider refused the task')
      const settlement: Settlement = { status: 'failed', failure: { code, message, retryable } }
      if (!retryable) {
        await settle(settlement, 'not-accepted', () => context.settle(work.taskId, settlement))
      } else if (work.attempts + 1 < work.maxAttempts) {
        const delayMs = retryDelay({ attempt: work.attempts, random: context.random() })
        await putOff({ reason: message, lastError: message, delayMs, countAttempt: true })
      } else {
        await settle(settlement, 'not-accepted', () =>
          giveUp(context.settle, settlement, {
            ...work,
            kind: 'send',
            provider: provider.name,
            reason: `${code}: ${message}`,
          }),
        )
        metrics.deadLettered(provider.name, 'send')
      }
      return
    }
    case 'unknown':
      log.warn({ reason: outcome.reason }, 'the reply to a create was lost')
      await reconcile({ ...work, sendingAt: new Date() })
      return
    case 'not-accepted': {
      const { reason } = outcome
      log.warn({ reason }, 'not accepted this time')
      if (outcome.retryAfterMs === null) {
        breaker.failed(performance.now())
        const delayMs = retryDelay({ attempt: UNREACHABLE_STEP, random: context.random() })
        await putOff({ reason, lastError: OUT_OF_REACH, delayMs, countAttempt: false })
      } else {
        await putOff({ reason, lastError: BUSY, delayMs: outcome.retryAfterMs, countAttempt: false })
        await pauseBudget(sql, provider.name, 'create', outcome.retryAfterMs)
      }
    }
  }
}

async function send(call: {
  /** With the task, its trace and its provider on every line. */
  log: Logger
  provider: Provider
  request: CreateRequest
}): Promise<CreateOutcome> {
  const { log, provider, request } = call
  try {
    // Not aborted by a stop: a create that was cut off would be an unknown one.
    return await provider.create(request, new AbortController().signal)
  } catch (error) {
    log.error({ err: error }, 'the adapter threw')
    return { kind: 'unknown', reason: 'the adapter threw' }
  }
}

/** Vendors like to repeat what they refuse, and the address that they may call back at carries a secret. */
function withoutSecret(outcome: CreateOutcome, secret: string): CreateOutcome {
  const clean = (text: string) => text.replaceAll(secret, '[secret]')
  switch (outcome.kind) {
    case 'accepted':
      return outcome
    case 'refused':
      return { ...outcome, message: clean(outcome.message) }
    default:
      return { ...outcome, reason: clean(outcome.reason) }
  }
}

function refused(message: string): Settlement {
  return { status: 'failed', failure: { code: 'SUBMIT_REFUSED', message, retryable: false } }
}
