import type { TaskFailure } from '@holdfast/shared'
import { BUSY, OUT_OF_REACH } from '../../providers/messages.ts'
import type { CreateOutcome } from '../../providers/provider.ts'
import { retryDelay } from '../poll/poll-delay.ts'
import type { PutOff } from './unmark-sending.ts'

/** What the provider's answer to a create leads to. */
export type SendAction =
  | { do: 'accept'; externalId: string }
  /** `letter`: why it is left for an operator, too. */
  | { do: 'fail'; failure: TaskFailure; letter: string | null }
  /** It is certain that nothing was accepted: it is sent again later. */
  | { do: 'put off'; how: PutOff; pauseBudgetMs: number | null }
  /** It may have been accepted: it is looked for, and never sent again. */
  | { do: 'look for it'; reason: string; letter: string | null }

/** What it says about the provider as a whole: it answered, it did not, or nothing. */
export type Sign = 'answered' | 'out of reach' | null

export interface SendState {
  attempts: number
  maxAttempts: number
  /** In [0, 1). */
  random: number
}

type Rules = {
  [K in CreateOutcome['kind']]: (
    outcome: Extract<CreateOutcome, { kind: K }>,
    state: SendState,
  ) => SendAction & { sign: Sign }
}

/** Up to 16 s between tries while a provider cannot be reached; the limit for waiting ends it, not a count. */
const UNREACHABLE_STEP = 4

/**
 * | answer | then |
 * |---|---|
 * | accepted | its id is written down |
 * | refused for good | the task fails |
 * | refused for now | sent again, until its attempts are spent: then it fails and leaves a dead letter |
 * | told to wait | sent again after that, and so is everything else; no attempt is counted |
 * | out of reach | sent again; no attempt is counted |
 * | unknown | looked for; if the adapter broke, an operator should see it |
 */
const RULES: Rules = {
  accepted: ({ externalId }) => ({ do: 'accept', externalId, sign: 'answered' }),

  refused({ code, message, retryable }, { attempts, maxAttempts, random }) {
    const failure = { code, message, retryable }
    if (!retryable) return { do: 'fail', failure, letter: null, sign: 'answered' }
    if (attempts + 1 >= maxAttempts) {
      return { do: 'fail', failure, letter: `${code}: ${message}`, sign: 'answered' }
    }
    const delayMs = retryDelay({ attempt: attempts, random })
    const how = { reason: message, lastError: message, delayMs, countAttempt: true }
    return { do: 'put off', how, pauseBudgetMs: null, sign: 'answered' }
  },

  'not-accepted'({ reason, retryAfterMs }, { random }) {
    if (retryAfterMs === null) {
      const delayMs = retryDelay({ attempt: UNREACHABLE_STEP, random })
      const how = { reason, lastError: OUT_OF_REACH, delayMs, countAttempt: false }
      return { do: 'put off', how, pauseBudgetMs: null, sign: 'out of reach' }
    }
    const how = { reason, lastError: BUSY, delayMs: retryAfterMs, countAttempt: false }
    return { do: 'put off', how, pauseBudgetMs: retryAfterMs, sign: null }
  },

  unknown: ({ reason, isUnclassified = false }) => ({
    do: 'look for it',
    reason,
    letter: isUnclassified ? reason : null,
    sign: null,
  }),
}

export function decideSend(outcome: CreateOutcome, state: SendState): SendAction & { sign: Sign } {
  // The compiler cannot see that the rule and the outcome are of the same kind.
  const rule = RULES[outcome.kind] as (
    outcome: CreateOutcome,
    state: SendState,
  ) => SendAction & { sign: Sign }
  return rule(outcome, state)
}
