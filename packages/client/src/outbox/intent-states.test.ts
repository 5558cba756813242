import { describe, expect, it } from 'vitest'
import type { Intent, IntentState } from './intent.ts'
import { INTENT_STEPS, type IntentEvent, stepIntent } from './intent-states.ts'

const intent = (state: IntentState, given: Partial<Intent> = {}): Intent => ({
  key: 'key',
  body: { type: 'image', params: {}, placeholderId: 'card' },
  retryOf: null,
  createdAt: 1,
  offset: null,
  madeBy: 'tab',
  state,
  sender: 'page',
  senderTab: 'tab',
  claimedAt: 1,
  waiting: null,
  failure: null,
  ...given,
})

const failure = { code: 'INVALID_PARAMS' as const, message: 'No.', retryable: false }
const waiting = { reason: 'NETWORK' as const, message: 'No answer.', retryAt: '2026-01-01T00:00:00.000Z' }

/** Each event as the page that has the intent would say it … */
const EVENTS: { [K in IntentEvent['kind']]: Extract<IntentEvent, { kind: K }> } = {
  claim: { kind: 'claim', from: 'page', sender: 'other-page', senderTab: 'other-tab', at: 2 },
  'put-off': { kind: 'put-off', sender: 'page', waiting },
  accept: { kind: 'accept' },
  refuse: { kind: 'refuse', sender: 'page', failure },
  expire: { kind: 'expire', failure },
  discard: { kind: 'discard' },
  conclude: { kind: 'conclude' },
  resend: { kind: 'resend', sender: 'other-page', senderTab: 'other-tab', at: 2, offset: 3 },
}

type Expected = IntentState | 'sent' | 'gone' | '–'

/** … and what becomes of it. `gone`: it leaves the disk without a task. `–`: it stays as it is. */
const TABLE: Record<IntentState, Record<IntentEvent['kind'], Expected>> = {
  kept: {
    claim: 'sending',
    'put-off': '–',
    accept: 'sent',
    refuse: '–',
    expire: 'expired',
    discard: 'recalled',
    conclude: '–',
    resend: '–',
  },
  sending: {
    claim: 'sending',
    'put-off': 'kept',
    accept: 'sent',
    refuse: 'refused',
    expire: 'expired',
    discard: 'recalled',
    conclude: '–',
    resend: '–',
  },
  recalled: {
    claim: '–',
    'put-off': '–',
    accept: '–',
    refuse: 'gone',
    expire: '–',
    discard: '–',
    conclude: 'gone',
    resend: '–',
  },
  refused: {
    claim: '–',
    'put-off': '–',
    accept: 'sent',
    refuse: '–',
    expire: '–',
    discard: 'gone',
    conclude: '–',
    resend: 'sending',
  },
  expired: {
    claim: '–',
    'put-off': '–',
    accept: 'sent',
    refuse: '–',
    expire: '–',
    discard: 'recalled',
    conclude: '–',
    resend: 'sending',
  },
}

const cells = Object.entries(TABLE).flatMap(([state, row]) =>
  Object.entries(row).map(([kind, expected]) => [state, kind, expected] as const),
)

function nameOf(after: ReturnType<typeof stepIntent>): Expected {
  if (after === null) return '–'
  if (typeof after === 'string') return after === 'sent' ? 'sent' : 'gone'
  return after.state
}

describe('a submit in this browser', () => {
  it.each(cells)('%s, %s → %s', (state, kind, expected) => {
    expect(nameOf(stepIntent(intent(state as IntentState), EVENTS[kind as IntentEvent['kind']]))).toBe(
      expected,
    )
  })

  it('has a step for every state and event', () => {
    for (const steps of Object.values(INTENT_STEPS)) {
      expect(Object.keys(steps).sort()).toEqual(Object.keys(EVENTS).sort())
    }
  })

  it('that another page has taken over does not change by what the page before it says', () => {
    for (const kind of ['put-off', 'refuse'] as const) {
      for (const state of ['sending', 'recalled'] as const) {
        expect(stepIntent(intent(state, { sender: 'newer' }), EVENTS[kind])).toBeNull()
      }
    }
    expect(stepIntent(intent('sending', { sender: 'newer' }), EVENTS.claim)).toBeNull()
  })

  it('belongs to the page that claims it', () => {
    expect(stepIntent(intent('kept', { waiting }), EVENTS.claim)).toMatchObject({
      sender: 'other-page',
      senderTab: 'other-tab',
      claimedAt: 2,
      waiting: null,
    })
  })

  it('that is a retry leaves the outbox when it is refused: the task it was to repeat takes its place', () => {
    expect(stepIntent(intent('sending', { retryOf: 'task' }), EVENTS.refuse)).toBe('discarded')
  })

  it('that is sent again counts from then on', () => {
    expect(stepIntent(intent('expired', { failure }), EVENTS.resend)).toMatchObject({
      createdAt: 2,
      offset: 3,
      failure: null,
    })
  })
})
