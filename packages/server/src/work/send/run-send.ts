import { untilWritten } from '../../database/until-written.ts'
import { giveUp } from '../../dead-letters/give-up.ts'
import { pauseBudget } from '../../engine/budgets.ts'
import type { Fence } from '../../engine/claim.ts'
import { isHeld } from '../../engine/claim.ts'
import type { CreateOutcome, CreateRequest, Provider } from '../../providers/provider.ts'
import { modelOfTask } from '../../tasks/check-params.ts'
import type { Settlement, SettleResult } from '../../tasks/settle-task.ts'
import type { ProviderContext } from '../provider-context.ts'
import type { ClaimedSend } from './claim-sends.ts'
import { concludeCreate } from './conclude-create.ts'
import { reconcileSend } from './reconcile-send.ts'
import { decideSend } from './send-actions.ts'
import { type PutOff, unmarkSending } from './unmark-sending.ts'

/**
 * A mark older than this is not sent on: the process may have slept in between, and somebody else may have given
 * the task up as unknown by now.
 */
const SEND_WITHIN_MS = 2_000

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
  const { sql, notify, types, metrics, breaker } = context
  const log = context.log.child({ taskId: work.taskId, traceId: work.traceId, provider: provider.name })
  const fence = { workId: work.workId, epoch: work.epoch }

  /**
   * What the provider said is a fact; that its answer is lost, or that we no longer offer the type, is ours to say, with
   * the claim.
   */
  async function fail(
    settlement: Settlement,
    fate: 'not-accepted' | 'lost',
    letter: string | null,
    options: { fence?: Fence } = {},
  ): Promise<void> {
    const end = (): Promise<SettleResult> =>
      letter === null
        ? context.settle(work.taskId, settlement, options)
        : giveUp(
            context.settle,
            settlement,
            { ...work, kind: 'send', provider: provider.name, reason: letter },
            options,
          )
    const result = await untilWritten(end, log, context.givenUp)
    metrics.settled(provider.name, settlement.status, result.kind)
    if (result.kind === 'settled' && letter !== null) metrics.deadLettered(provider.name, 'send')
    if (result.kind === 'already-ended') await conclude(fate)
  }

  /** A task that was cancelled on the way waits for this: its credits are held until then. False if it was not. */
  async function conclude(fate: 'not-accepted' | 'lost'): Promise<boolean> {
    const concluded = await untilWritten(
      () =>
        concludeCreate(context, context.aftermath, {
          taskId: work.taskId,
          fate,
          ...(fate === 'lost' ? { fence } : {}),
        }),
      log,
      context.givenUp,
    )
    if (!concluded) return false
    log.info({ fate }, 'the create of a task that was cancelled meanwhile has ended')
    return true
  }

  /** Puts it off: certainly not accepted, so it can be sent again. */
  async function putOff(how: PutOff): Promise<void> {
    const held = await untilWritten(
      () => unmarkSending(context, work.taskId, work, how),
      log,
      context.givenUp,
    )
    if (!held && !(await conclude('not-accepted'))) metrics.refused(provider.name, 1)
  }

  async function accept(externalId: string): Promise<void> {
    const firstPollMs = context.firstPollMs(work.type, work.userId)
    // Logged first: if nothing else survives, the operator can still find what was paid for.
    log.info({ externalId }, 'accepted')
    await untilWritten(
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
  }

  /** @param letter why an operator should see it, if it cannot be found; whoever looks again is told, too */
  async function reconcile(lost: ClaimedSend & { sendingAt: Date }, letter: string | null): Promise<void> {
    const reconciled = await reconcileSend(context, provider, lost, request)
    if (reconciled.kind === 'found') return accept(reconciled.externalId)
    if (reconciled.kind === 'later') {
      await sql`
        with put as (
          update holdfast.work w set due_at = now() + ${reconciled.delayMs} * interval '1 ms'
          where ${isHeld(sql, 'send', work)} returning w.task_id
        )
        update holdfast.provider_jobs j set last_error = ${letter}
        from put where j.task_id = put.task_id and j.last_error is distinct from ${letter}
      `
      notify.dueHere('send', provider.name, reconciled.delayMs)
      return
    }
    log.warn({ sendingAt: lost.sendingAt }, 'the reply to a create was lost')
    await fail(SUBMIT_UNKNOWN, 'lost', letter, { fence })
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
    await reconcile({ ...work, sendingAt: work.sendingAt }, work.brokeBecause)
    return
  }

  if (!type) {
    return fail(refused(`This server no longer offers "${work.type}".`), 'not-accepted', null, { fence })
  }

  // Somebody who is gone had marked it, and an id was told meanwhile: the next claim finds out.
  if (!work.isMarked) return
  if (performance.now() - markedAt > SEND_WITHIN_MS) {
    await putOff({ reason: 'marked too long ago to send', delayMs: 0, countAttempt: false })
    return
  }

  const outcome = withoutSecret(await context.calls.create(work, request), work.callbackSecret)
  const { attempts, maxAttempts } = work
  const { sign, ...action } = decideSend(outcome, { attempts, maxAttempts, random: context.random() })
  if (sign === 'answered') breaker.succeeded()
  if (sign === 'out of reach') breaker.failed(performance.now())

  switch (action.do) {
    case 'accept':
      return accept(action.externalId)
    case 'fail': {
      const { failure, letter } = action
      log.warn({ code: failure.code, attempt: attempts + 1 }, 'the provider refused the task')
      return fail({ status: 'failed', failure }, 'not-accepted', letter)
    }
    case 'put off':
      log.warn({ reason: action.how.reason }, 'not accepted this time')
      await putOff(action.how)
      if (action.pauseBudgetMs !== null) await pauseBudget(sql, provider.name, 'create', action.pauseBudgetMs)
      return
    case 'look for it':
      log.warn({ reason: action.reason }, 'the reply to a create was lost')
      return reconcile({ ...work, sendingAt: new Date() }, action.letter)
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
