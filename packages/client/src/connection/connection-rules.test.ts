import { describe, expect, it } from 'vitest'
import { step } from '../state-machine.ts'
import type { StreamOutcome } from '../transport/transport.ts'
import {
  CONNECTION_RULES,
  type ConnectionEffect,
  type ConnectionEvent,
  type ConnectionState,
  type ConnectionWorld,
} from './connection-rules.ts'

type StateName = ConnectionState['is']
type EventName = ConnectionEvent['type']

const NOW = 1_000_000
const memory = { failures: 2, quickFailures: 0, pushAgainAt: 0, freshToken: false }

const STATES: { [S in StateName]: Extract<ConnectionState, { is: S }> } = {
  asking: { is: 'asking', first: false, ...memory },
  streaming: { is: 'streaming', openedAt: NOW - 20_000, ...memory },
  'between-polls': { is: 'between-polls', until: NOW + 30_000, ...memory },
  retrying: { is: 'retrying', ...memory },
  over: { is: 'over', ...memory },
}

const EVENTS: { [E in EventName]: Extract<ConnectionEvent, { type: E }> } = {
  synced: { type: 'synced' },
  'sync-failed': { type: 'sync-failed', retryAfterMs: 0 },
  opened: { type: 'opened' },
  news: { type: 'news' },
  'stream-ended': { type: 'stream-ended', outcome: 'closed', retryAfterMs: 0 },
  'time-up': { type: 'time-up' },
  woken: { type: 'woken', why: 'visible' },
  nudged: { type: 'nudged' },
  stopped: { type: 'stopped' },
}

/** Everything is known, streams may be used, and a poll is due every 5 s. */
const WORLD: ConnectionWorld = {
  now: NOW,
  random: () => 0.5,
  push: true,
  isSynced: () => true,
  pollInterval: () => 5_000,
}

function inWords(effect: ConnectionEffect) {
  switch (effect.do) {
    case 'status':
      return effect.status
    case 'time-up':
      return `time-up in ${effect.ms}`
    case 'stream':
      return effect.freshToken ? 'stream with a fresh token' : 'stream'
    default:
      return effect.do
  }
}

const next = (state: ConnectionState, event: ConnectionEvent, world = WORLD) =>
  step(CONNECTION_RULES, state, event, world)

/** The next state and what is done; an empty list when nothing changes. */
function after(state: ConnectionState, event: ConnectionEvent, world = WORLD): string[] {
  const { state: to, effects } = next(state, event, world)
  return to === state && effects.length === 0 ? [] : [to.is, ...effects.map(inWords)]
}

/** What every event does in every state; an empty list changes nothing. */
const EXPECTED: Record<StateName, Record<EventName, string[]>> = {
  asking: {
    synced: ['between-polls', 'polling', 'time-up in 5000'],
    'sync-failed': ['retrying', 'offline', 'time-up in 2000'],
    opened: [],
    news: [],
    'stream-ended': [],
    'time-up': [],
    woken: ['asking'],
    nudged: [],
    stopped: ['over'],
  },
  streaming: {
    synced: [],
    'sync-failed': [],
    opened: ['streaming'],
    news: ['streaming', 'push'],
    'stream-ended': ['retrying', 'time-up in 500'],
    'time-up': [],
    woken: ['streaming', 'check-silence'],
    nudged: [],
    stopped: ['over'],
  },
  'between-polls': {
    synced: [],
    'sync-failed': [],
    opened: [],
    news: [],
    'stream-ended': [],
    'time-up': ['streaming', 'stream'],
    woken: ['streaming', 'stream'],
    nudged: ['streaming', 'stream'],
    stopped: ['over'],
  },
  retrying: {
    synced: [],
    'sync-failed': [],
    opened: [],
    news: [],
    'stream-ended': [],
    'time-up': ['streaming', 'stream'],
    woken: ['streaming', 'stream'],
    nudged: [],
    stopped: ['over'],
  },
  over: {
    synced: [],
    'sync-failed': [],
    opened: [],
    news: [],
    'stream-ended': [],
    'time-up': [],
    woken: [],
    nudged: [],
    stopped: [],
  },
}

describe.each(Object.keys(STATES) as StateName[])('a connection that is %s', (name) => {
  it.each(Object.keys(EVENTS) as EventName[])('on %s', (event) => {
    expect(after(STATES[name], EVENTS[event])).toEqual(EXPECTED[name][event])
  })
})

describe('what comes next', () => {
  const { retrying } = STATES
  const tired = { ...retrying, quickFailures: 3, pushAgainAt: NOW + 1 }

  it('is a request for everything, as long as something is missing', () => {
    expect(after(retrying, EVENTS['time-up'], { ...WORLD, isSynced: () => false })).toEqual([
      'asking',
      'sync',
    ])
  })

  it('is a poll where streams are not to be used, or have failed too often, until they get another chance', () => {
    expect(after(retrying, EVENTS['time-up'], { ...WORLD, push: false })).toEqual(['asking', 'sync'])
    expect(after(tired, EVENTS['time-up'])).toEqual(['asking', 'sync'])
    expect(after(tired, EVENTS['time-up'], { ...WORLD, now: NOW + 1 })).toEqual(['streaming', 'stream'])
  })

  it('is a stream as soon as the network is back, but not merely because someone looks', () => {
    expect(after(tired, EVENTS.woken)).toEqual(['asking', 'sync'])
    expect(after(tired, { type: 'woken', why: 'online' })).toEqual(['streaming', 'stream'])
  })

  it('is a stream after the first answer, and a pause after a poll’s', () => {
    const first = { ...STATES.asking, first: true }
    expect(after(first, EVENTS.synced)).toEqual(['streaming', 'stream'])
    expect(after(first, EVENTS.synced, { ...WORLD, push: false })).toContain('polling')
  })
})

describe('a failure', () => {
  it('makes the next pause longer, and an answer or news make it short again', () => {
    expect(next(STATES.asking, EVENTS['sync-failed']).state.failures).toBe(3)
    expect(next(STATES.asking, EVENTS.synced).state.failures).toBe(0)
    expect(next(STATES.streaming, EVENTS.news).state.failures).toBe(0)
    for (const name of ['asking', 'streaming', 'between-polls', 'retrying'] as const) {
      expect(next(STATES[name], EVENTS.woken).state.failures).toBe(0)
    }
  })

  it('waits at least as long as the server asks', () => {
    const busy = { ...EVENTS['sync-failed'], retryAfterMs: 7_000 }
    expect(after(STATES.asking, busy)).toContain('time-up in 7000')
  })

  it('of a poll lets streams try at once, of a first request it says nothing about them', () => {
    const tired = { ...STATES.asking, quickFailures: 3, pushAgainAt: NOW + 50_000 }
    expect(next(tired, EVENTS['sync-failed']).state.pushAgainAt).toBe(0)
    expect(next({ ...tired, first: true }, EVENTS['sync-failed']).state.pushAgainAt).toBe(NOW + 50_000)
  })
})

describe('a nudge', () => {
  it('ends the wait for the next poll only if that is much longer than it should be now', () => {
    const until = (ms: number) => ({ ...STATES['between-polls'], until: NOW + ms })
    expect(after(until(5_500), EVENTS.nudged)).toEqual([])
    expect(after(until(5_501), EVENTS.nudged)).toEqual(['streaming', 'stream'])
  })
})

describe('the end of a stream', () => {
  const POLLS = ['asking', 'sync']
  const never = Number.POSITIVE_INFINITY
  const ended = (outcome: StreamOutcome | null, lived: number, quickFailures = 1) =>
    next(
      { ...STATES.streaming, openedAt: lived === never ? never : NOW - lived, quickFailures },
      { type: 'stream-ended', outcome, retryAfterMs: 0 },
    )
  const words = (...given: Parameters<typeof ended>) => {
    const { state, effects } = ended(...given)
    return [state.is, ...effects.map(inWords)]
  }

  const OUTCOMES: Record<StreamOutcome | 'failed', { quick: string[]; long: string[]; third: string[] }> = {
    closed: { quick: ['retrying', 'time-up in 1000'], long: ['retrying', 'time-up in 500'], third: POLLS },
    silent: { quick: ['retrying', 'time-up in 1000'], long: ['retrying', 'time-up in 1000'], third: POLLS },
    mute: { quick: POLLS, long: POLLS, third: POLLS },
    shutdown: {
      quick: ['retrying', 'time-up in 500'],
      long: ['retrying', 'time-up in 500'],
      third: ['retrying', 'time-up in 1000'],
    },
    'token-expired': {
      quick: ['streaming', 'stream with a fresh token'],
      long: ['streaming', 'stream with a fresh token'],
      third: ['streaming', 'stream with a fresh token'],
    },
    superseded: {
      quick: ['over', 'superseded'],
      long: ['over', 'superseded'],
      third: ['over', 'superseded'],
    },
    failed: {
      quick: ['retrying', 'offline', 'time-up in 2000'],
      long: ['retrying', 'offline', 'time-up in 2000'],
      third: POLLS,
    },
  }

  it.each(Object.keys(OUTCOMES) as (StreamOutcome | 'failed')[])('%s', (name) => {
    const outcome = name === 'failed' ? null : name
    expect({
      quick: words(outcome, 9_999),
      long: words(outcome, 10_000),
      third: words(outcome, 9_999, 2),
    }).toEqual(OUTCOMES[name])
  })

  it('that never opened counts as quick', () => {
    expect(words(null, never, 2)).toEqual(POLLS)
  })

  it('whose token was refused at once is a failure like any other', () => {
    expect(words('token-expired', 999)).toEqual(['retrying', 'time-up in 1000'])
    expect(words('token-expired', 999, 2)).toEqual(POLLS)
  })

  it('makes streams wait for half a minute to a minute when it was one too many', () => {
    expect(ended('mute', 0).state.pushAgainAt).toBe(NOW + 45_000)
    expect(ended('closed', 20_000, 2).state).toMatchObject({ quickFailures: 0, pushAgainAt: 0 })
  })
})
