import type { WriteContext } from '../../bus/create-notify.ts'
import { retryDeadlock } from '../../database/retry-deadlock.ts'
import { takeOver } from '../../engine/claim.ts'
import type { Provider } from '../../providers/provider.ts'

/** The replica that polls must have heard that somebody watches, or it goes on at the unwatched pace. */
const HEARD_WITHIN_MS = 100

/**
 * Somebody has begun to watch: poll this user's tasks soon instead of at their unwatched pace. `minPollMs` is the
 * provider's minimum, so coming and going cannot make it more often than that. The epoch rises
 * too, so that an unwatched due time which is just being written does not undo it.
 */
export async function hastenPolls(
  { sql, notify }: WriteContext,
  userId: string,
  minPollMs: number,
): Promise<void> {
  const withinMs = Math.max(minPollMs, HEARD_WITHIN_MS)
  // Two streams of one user may want the same rows in another order.
  const hastened = await retryDeadlock(
    () => sql<{ provider: string }[]>`
    update holdfast.work w set due_at = now() + ${withinMs} * interval '1 ms', ${takeOver(sql)}
    from holdfast.tasks t
    where t.user_id = ${userId} and t.status in ('pending', 'running')
      and w.task_id = t.id and w.kind = 'poll' and w.part = 0 and w.due_at > now() + ${withinMs} * interval '1 ms'
    returning w.provider
  `,
  )
  for (const provider of new Set(hastened.map((work) => work.provider))) {
    notify.due('poll', provider, withinMs)
  }
}

export function shortestPollMs(providers: ReadonlyMap<string, Provider>): number {
  return Math.min(...[...providers.values()].map((provider) => provider.limits.minPollMs))
}
