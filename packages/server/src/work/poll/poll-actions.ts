import type { QueryOutcome } from '../../providers/provider.ts'
import { tidyUsage } from '../../providers/tidy-usage.ts'
import type { Settlement } from '../../tasks/settle-task.ts'

/**
 * A task fails by its deadline only after a poll that told us it is still unfinished. If no poll has told us
 * anything for this long past the deadline, it is given up all the same.
 */
export const HARD_LIMIT_PAST_DEADLINE_MS = 24 * 60 * 60_000

export const DEADLINE_EXCEEDED: Settlement = {
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

/** What the provider's answer to a poll leads to. */
export type PollAction =
  /**
   * `by`: the provider's final word is a fact and needs no claim; what we decide is only ours while we hold it.
   * `took`: whether it tells how long such a task takes. `letter`: why it is left for an operator, too.
   */
  | { do: 'end'; settlement: Settlement; by: 'provider' | 'us'; took: boolean; letter: string | null }
  | { do: 'go on'; progress: { progress: number | null; queuePosition: number | null } | null }
  /** Nothing was learned. */
  | { do: 'ask again'; reason: string; retryAfterMs: number | null }

export interface PollState {
  /** Since acceptance. */
  ageMs: number
  /** Past the deadline by this much; negative before it. */
  overdueMs: number
  notFoundGraceMs: number
  copiesFiles: boolean
}

type Rules = {
  [K in QueryOutcome['kind']]: (outcome: Extract<QueryOutcome, { kind: K }>, state: PollState) => PollAction
}

const endedBy = (by: 'provider' | 'us', settlement: Settlement): PollAction => ({
  do: 'end',
  settlement,
  by,
  took: false,
  letter: null,
})

/**
 * | answer | then |
 * |---|---|
 * | succeeded | completed |
 * | failed | failed; a result that nobody can read is left for an operator, too |
 * | cancelled | cancelled, by the provider |
 * | not found | goes on during the grace period, then fails |
 * | running | goes on, unless its deadline is over |
 * | nothing learned | asked again, unless it is a day past its deadline |
 */
const RULES: Rules = {
  succeeded: ({ outputs, usage }, { copiesFiles }) => ({
    do: 'end',
    settlement: { status: 'completed', outputs, mirror: copiesFiles, usage: tidyUsage(usage) },
    by: 'provider',
    took: true,
    letter: null,
  }),
  failed: ({ code, message, retryable }) => ({
    do: 'end',
    settlement: { status: 'failed', failure: { code, message, retryable } },
    by: 'provider',
    took: true,
    letter: code === 'RESULT_UNREADABLE' ? message : null,
  }),
  cancelled: () => endedBy('provider', { status: 'cancelled', by: 'provider' }),
  'not-found': (_, { ageMs, notFoundGraceMs }) =>
    ageMs > notFoundGraceMs ? endedBy('us', TASK_NOT_FOUND) : { do: 'go on', progress: null },
  running: ({ progress, queuePosition = null }, { overdueMs }) =>
    overdueMs >= 0
      ? endedBy('us', DEADLINE_EXCEEDED)
      : { do: 'go on', progress: { progress, queuePosition } },
  inconclusive: ({ reason, retryAfterMs }, { overdueMs }) =>
    overdueMs >= HARD_LIMIT_PAST_DEADLINE_MS
      ? endedBy('us', DEADLINE_EXCEEDED)
      : { do: 'ask again', reason, retryAfterMs },
}

export function decidePoll(outcome: QueryOutcome, state: PollState): PollAction {
  // The compiler cannot see that the rule and the outcome are of the same kind.
  const rule = RULES[outcome.kind] as (outcome: QueryOutcome, state: PollState) => PollAction
  return rule(outcome, state)
}
