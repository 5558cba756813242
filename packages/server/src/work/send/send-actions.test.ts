import { describe, expect, it } from 'vitest'
import type { CreateOutcome } from '../../providers/provider.ts'
import { decideSend, type SendState } from './send-actions.ts'

const FIRST: SendState = { attempts: 0, maxAttempts: 3, random: 0.5 }
const LAST: SendState = { ...FIRST, attempts: 2 }

const refused = (retryable: boolean): CreateOutcome => ({
  kind: 'refused',
  code: 'PROVIDER_QUOTA',
  message: 'no credit',
  retryable,
})
const waits = (retryAfterMs: number | null): CreateOutcome => ({
  kind: 'not-accepted',
  reason: '503',
  retryAfterMs,
})

describe('what the answer to a create leads to', () => {
  it.each<[string, CreateOutcome, SendState, object]>([
    [
      'accepted',
      { kind: 'accepted', externalId: 'e' },
      FIRST,
      { do: 'accept', externalId: 'e', sign: 'answered' },
    ],
    ['refused for good', refused(false), FIRST, { do: 'fail', letter: null, sign: 'answered' }],
    ['refused for good, at last', refused(false), LAST, { do: 'fail', letter: null }],
    [
      'refused for now',
      refused(true),
      FIRST,
      { do: 'put off', how: { countAttempt: true, delayMs: 500 }, pauseBudgetMs: null, sign: 'answered' },
    ],
    [
      'refused for now, at last',
      refused(true),
      LAST,
      { do: 'fail', letter: 'PROVIDER_QUOTA: no credit', sign: 'answered' },
    ],
    [
      'told to wait',
      waits(7_000),
      LAST,
      { do: 'put off', how: { countAttempt: false, delayMs: 7_000 }, pauseBudgetMs: 7_000, sign: null },
    ],
    [
      'out of reach',
      waits(null),
      LAST,
      {
        do: 'put off',
        how: { countAttempt: false, delayMs: 8_000 },
        pauseBudgetMs: null,
        sign: 'out of reach',
      },
    ],
    [
      'unknown',
      { kind: 'unknown', reason: 'cut' },
      LAST,
      { do: 'look for it', reason: 'cut', letter: null, sign: null },
    ],
    [
      'unknown, because the adapter broke',
      { kind: 'unknown', reason: 'the adapter threw', isUnclassified: true },
      FIRST,
      { do: 'look for it', letter: 'the adapter threw', sign: null },
    ],
  ])('%s', (_, outcome, state, action) => {
    expect(decideSend(outcome, state)).toMatchObject(action)
  })
})
