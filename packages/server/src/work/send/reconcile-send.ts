import type { CreateRequest, Provider } from '../../providers/provider.ts'
import type { ProviderContext } from '../provider-context.ts'
import type { ClaimedSend } from './claim-sends.ts'

/** How long a create whose reply was lost is looked for where the provider can list. */
const LOOK_FOR_MS = 60_000
/** How long its callback is waited for, measured by how long such a task usually takes. */
const WAIT_FOR_CALLBACK_TIMES = 2
const LOOK_EVERY_MS = 5_000

export type Reconciled =
  | { kind: 'found'; externalId: string }
  /** It may still turn up: ask again after so long. */
  | { kind: 'later'; delayMs: number }
  /** There is nothing left to look for it with, or enough time has passed. */
  | { kind: 'unknown' }

/**
 * Finds out what became of a create whose reply was lost. It is never sent again: it is looked up where the provider can
 * list, or found by its callback, whose address carries a secret of this task's own.
 */
export async function reconcileSend(
  context: ProviderContext,
  provider: Provider,
  work: ClaimedSend & { sendingAt: Date },
  request: CreateRequest,
): Promise<Reconciled> {
  if (work.reportedId !== null) return { kind: 'found', externalId: work.reportedId }
  const found = await context.calls.find(work, { ...request, sentAtMs: work.sendingAt.getTime() })
  if (found?.kind === 'found') return found

  const expectedMs = context.types[work.type]?.expectedMs ?? 0
  const patienceMs = Math.max(
    found ? LOOK_FOR_MS : 0,
    request.callbackUrl && provider.readWebhook
      ? Math.max(LOOK_FOR_MS, expectedMs * WAIT_FOR_CALLBACK_TIMES)
      : 0,
  )
  return work.sentMsAgo < patienceMs ? { kind: 'later', delayMs: LOOK_EVERY_MS } : { kind: 'unknown' }
}
