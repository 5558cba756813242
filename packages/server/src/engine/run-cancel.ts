import { retryDelay } from '../poller/poll-delay.ts'
import type { Provider } from '../providers/provider.ts'
import type { ClaimedWork } from './claim-work.ts'
import type { EngineContext } from './engine-context.ts'

/** Asks the provider to stop what nobody wants any more. Best effort: after the last attempt it is let be. */
export async function runCancel(
  context: EngineContext,
  provider: Provider,
  work: ClaimedWork,
): Promise<void> {
  const { sql } = context
  const taken = work.externalId !== null && (await provider.cancel?.(work.externalId, context.stopping))
  if (taken || work.attempts + 1 >= work.maxAttempts) {
    await sql`delete from holdfast.work where id = ${work.workId} and epoch = ${work.epoch}`
    return
  }
  const delayMs = retryDelay({ attempt: work.attempts + 1, random: context.random(), floorMs: 1_000 })
  await sql`
    update holdfast.work set attempts = attempts + 1, due_at = now() + ${delayMs} * interval '1 ms'
    where id = ${work.workId} and epoch = ${work.epoch}
  `
}
