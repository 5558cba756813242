import { transaction } from '../../database/transaction.ts'
import { writeDeadLetter } from '../../dead-letters/write-dead-letter.ts'
import { isHeld } from '../../engine/claim.ts'
import { ENDPOINTS } from '../../engine/work-queue.ts'
import type { Provider } from '../../providers/provider.ts'
import { retryDelay } from '../poll/poll-delay.ts'
import type { ProviderContext } from '../provider-context.ts'
import type { ClaimedCancel } from './claim-cancels.ts'

/** Asks the provider to stop what nobody wants any more. After the last attempt it is let be, as a dead letter. */
export async function runCancel(
  context: ProviderContext,
  provider: Provider,
  work: ClaimedCancel,
): Promise<void> {
  const { sql, notify } = context
  const taken = work.externalId !== null && (await context.calls.cancel(work, work.externalId))
  if (taken) {
    await sql`
      delete from holdfast.work w where ${isHeld(sql, 'cancel', work)}
    `
    context.log.info(about(provider, work), 'cancelled at the provider')
    return
  }
  if (work.attempts + 1 >= work.maxAttempts) {
    await transaction(sql, async (tx) => {
      const gone = await tx`
        delete from holdfast.work w where ${isHeld(tx, 'cancel', work)}
      `
      if (gone.count === 0) return
      tx.afterCommit(() => notify.due('deliver', ENDPOINTS))
      const reason = 'the provider did not take the cancel'
      await writeDeadLetter(tx, { ...work, kind: 'cancel', provider: provider.name, reason })
    })
    context.metrics.deadLettered(provider.name, 'cancel')
    context.log.warn(about(provider, work), 'the provider did not take the cancel; it is let be')
    return
  }
  context.log.warn(about(provider, work), 'the provider did not take the cancel; it is asked again')
  const delayMs = retryDelay({ attempt: work.attempts + 1, random: context.random(), floorMs: 1_000 })
  await sql`
    update holdfast.work w set attempts = w.attempts + 1, due_at = now() + ${delayMs}::float8 * interval '1 ms'
    where ${isHeld(sql, 'cancel', work)}
  `
  notify.dueHere('cancel', provider.name, delayMs)
}

function about(provider: Provider, { taskId, traceId, attempts }: ClaimedCancel) {
  return { taskId, traceId, provider: provider.name, attempt: attempts + 1 }
}
