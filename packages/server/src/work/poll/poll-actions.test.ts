import { describe, expect, it } from 'vitest'
import type { QueryOutcome } from '../../providers/provider.ts'
import { decidePoll, HARD_LIMIT_PAST_DEADLINE_MS, type PollState } from './poll-actions.ts'

const IN_TIME: PollState = { ageMs: 5_000, overdueMs: -1, notFoundGraceMs: 60_000, copiesFiles: true }
const OVERDUE: PollState = { ...IN_TIME, overdueMs: 0 }
const OLD: PollState = { ...IN_TIME, ageMs: 60_001 }
const LONG_OVERDUE: PollState = { ...OVERDUE, overdueMs: HARD_LIMIT_PAST_DEADLINE_MS }

const running: QueryOutcome = { kind: 'running', progress: 40, queuePosition: 2 }
const succeeded: QueryOutcome = { kind: 'succeeded', outputs: [] }
const failed = (code: 'PROVIDER_FAILED' | 'RESULT_UNREADABLE'): QueryOutcome => ({
  kind: 'failed',
  code,
  message: 'no',
  retryable: true,
})
const nothing: QueryOutcome = { kind: 'inconclusive', reason: '502', retryAfterMs: 3_000 }
const byProvider = (status: string, rest: object = {}) => ({
  do: 'end',
  by: 'provider',
  settlement: { status },
  ...rest,
})
const byUs = (code: string) => ({ do: 'end', by: 'us', took: false, settlement: { failure: { code } } })

describe('what the answer to a poll leads to', () => {
  it.each<[string, QueryOutcome, PollState, object]>([
    ['succeeded', succeeded, IN_TIME, byProvider('completed', { took: true, letter: null })],
    ['succeeded past its deadline', succeeded, LONG_OVERDUE, byProvider('completed')],
    ['failed', failed('PROVIDER_FAILED'), IN_TIME, byProvider('failed', { took: true, letter: null })],
    ['unreadable', failed('RESULT_UNREADABLE'), IN_TIME, byProvider('failed', { letter: 'no' })],
    ['cancelled', { kind: 'cancelled' }, IN_TIME, byProvider('cancelled', { took: false })],
    ['not found yet', { kind: 'not-found' }, IN_TIME, { do: 'go on', progress: null }],
    ['not found any more', { kind: 'not-found' }, OLD, byUs('TASK_NOT_FOUND')],
    ['running', running, IN_TIME, { do: 'go on', progress: { progress: 40, queuePosition: 2 } }],
    ['running past its deadline', running, OVERDUE, byUs('DEADLINE_EXCEEDED')],
    ['nothing learned', nothing, IN_TIME, { do: 'ask again', retryAfterMs: 3_000 }],
    ['nothing learned past its deadline', nothing, OVERDUE, { do: 'ask again' }],
    ['nothing learned for a day past it', nothing, LONG_OVERDUE, byUs('DEADLINE_EXCEEDED')],
  ])('%s', (_, outcome, state, action) => {
    expect(decidePoll(outcome, state)).toMatchObject(action)
  })
})
