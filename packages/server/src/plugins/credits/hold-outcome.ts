import type { CancelPolicy } from '../../tasks/task-types.ts'
import type { SettledTask } from '../plugin.ts'

/** What became of credits that were held: spent, or given back. */
export type HoldOutcome = 'capture' | 'refund'

/**
 * How the hold of a task ends (F13). Completed: spent. Failed, timed out or never sent: given back. Cancelled at its
 * user's wish: as the task type says. Cancelled by the provider, which nobody wished for: given back.
 */
export function holdOutcome(
  { status, startedAt }: Pick<SettledTask, 'status' | 'startedAt'>,
  { policy, by }: { policy: CancelPolicy; by: 'user' | 'provider' },
): HoldOutcome {
  if (status === 'completed') return 'capture'
  if (status === 'failed' || by === 'provider') return 'refund'
  switch (policy) {
    case 'refund':
    case 'capture':
      return policy
    case 'refund-before-start':
      return startedAt === null ? 'refund' : 'capture'
  }
}
