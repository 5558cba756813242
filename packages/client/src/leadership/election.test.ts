import { describe, expect, it } from 'vitest'
import { step } from '../state-machine.ts'
import { PROTOCOL } from '../tabs/tab-message.ts'
import {
  ELECTION,
  type ElectionEffect,
  type ElectionEvent,
  type ElectionState,
  type ElectionWorld,
} from './election.ts'
import type { Hold } from './level.ts'

const holdOf = (epoch: number): Hold => ({
  epoch,
  lost: new Promise(() => {}),
  renew: async () => true,
  release() {},
})
const ours = holdOf(4)
const newer = holdOf(5)
const thefts = { count: 0, lastAt: 0 }

type StateName = ElectionState['is']
type EventName = ElectionEvent['type']

const STATES: { [S in StateName]: Extract<ElectionState, { is: S }> } = {
  resting: { is: 'resting', reason: 'away', thefts },
  contending: { is: 'contending', reason: 'robbed', thefts },
  following: { is: 'following', reason: 'other-leads', thefts, askedAt: 4, understood: true },
  leading: { is: 'leading', reason: 'free', thefts, hold: ours },
  'handing-over': { is: 'handing-over', reason: 'handed-over', thefts, hold: ours },
}

const EVENTS: { [E in EventName]: Extract<ElectionEvent, { type: E }> } = {
  granted: { type: 'granted', hold: newer, why: 'freed' },
  'not-granted': { type: 'not-granted' },
  'level-broken': { type: 'level-broken' },
  lost: { type: 'lost', hold: ours },
  looked: { type: 'looked' },
  superseded: { type: 'superseded' },
  pong: { type: 'pong', visible: true, protocol: PROTOCOL },
  'no-answer': { type: 'no-answer' },
  heard: { type: 'heard' },
  offer: { type: 'offer' },
  claim: { type: 'claim', from: 'other' },
  yours: { type: 'yours' },
  bye: { type: 'bye', epoch: 4 },
  shown: { type: 'shown' },
  hidden: { type: 'hidden' },
  'page-away': { type: 'page-away' },
  'page-back': { type: 'page-back' },
  tick: { type: 'tick' },
  'time-up': { type: 'time-up' },
}

/** A tab that is looked at, in a browser with IndexedDB and without Web Locks; the leader's epoch is 4. */
const WORLD: ElectionWorld = {
  now: 100_000,
  visible: true,
  hiddenMs: 0,
  leaseExpired: false,
  highest: 4,
  level: { exclusive: true, freesItself: false },
  random: () => 0.5,
}
const WEB_LOCK = { exclusive: true, freesItself: true }
const EVERY_TAB = { exclusive: false, freesItself: true }
const HIDDEN = { ...WORLD, visible: false, hiddenMs: 5_000 }

function inWords(effect: ElectionEffect) {
  switch (effect.do) {
    case 'post':
      return `post ${effect.message.kind}`
    case 'later':
      return `${effect.send} in ${effect.ms}`
    case 'steal':
      return `steal above ${effect.epoch} (${effect.why})`
    case 'follow':
      return effect.understood ? 'follow' : 'follow for itself'
    case 'release':
    case 'lead':
    case 'renew':
      return `${effect.do} ${effect.hold.epoch}`
    default:
      return effect.do
  }
}

function after(state: ElectionState, event: ElectionEvent, world = WORLD): string[] {
  const next = step(ELECTION, state, event, world)
  return next.state === state && next.effects.length === 0
    ? []
    : [next.state.is, ...next.effects.map(inWords)]
}

const LEADS = ['leading', 'tick in 15000', 'lead 5']
const CONTENDS_AGAIN = ['contending', 'release 4', 'contend']
const STANDS_DOWN = ['contending', 'release 4', 'follow', 'contend']

/** What every event does in every state; an empty list changes nothing. */
const EXPECTED: Record<StateName, Record<EventName, string[]>> = {
  resting: {
    granted: ['resting', 'release 5'],
    'not-granted': [],
    'level-broken': [],
    lost: [],
    looked: [],
    superseded: [],
    pong: [],
    'no-answer': [],
    heard: [],
    offer: [],
    claim: [],
    yours: [],
    bye: [],
    shown: [],
    hidden: [],
    'page-away': [],
    'page-back': ['contending', 'contend'],
    tick: [],
    'time-up': [],
  },
  contending: {
    granted: LEADS,
    'not-granted': ['following', 'follow', 'wait', 'tick in 1500', 'ask'],
    'level-broken': ['contending', 'contend'],
    lost: [],
    looked: [],
    superseded: [],
    pong: [],
    'no-answer': [],
    heard: [],
    offer: ['contending', 'post claim'],
    claim: [],
    yours: ['contending', 'steal above 4 (handed-to-us)'],
    bye: ['contending', 'steal above 4 (freed)'],
    shown: ['contending', 'post claim'],
    hidden: [],
    'page-away': ['resting', 'hide-lease'],
    'page-back': [],
    tick: [],
    'time-up': ['contending', 'contend'],
  },
  following: {
    granted: LEADS,
    'not-granted': ['contending', 'contend'],
    'level-broken': ['contending', 'contend'],
    lost: [],
    looked: [],
    superseded: [],
    pong: ['following'],
    'no-answer': ['following', 'steal above 4 (no-answer)'],
    heard: [],
    offer: ['following', 'post claim'],
    claim: [],
    yours: ['following', 'steal above 4 (handed-to-us)'],
    bye: ['following', 'steal above 4 (freed)'],
    shown: ['following', 'post claim'],
    hidden: [],
    'page-away': ['resting', 'hide-lease'],
    'page-back': [],
    tick: ['following', 'tick in 1500'],
    'time-up': [],
  },
  leading: {
    granted: ['leading', 'lead 5'],
    'not-granted': [],
    'level-broken': [],
    lost: STANDS_DOWN,
    looked: [],
    superseded: ['contending', 'release 4', 'follow', 'time-up in 1500'],
    pong: [],
    'no-answer': [],
    heard: [],
    offer: [],
    claim: [],
    yours: [],
    bye: [],
    shown: [],
    hidden: ['leading', 'time-up in 5000'],
    'page-away': ['resting', 'hide-lease', 'release 4', 'post bye'],
    'page-back': [],
    tick: ['leading', 'tick in 15000', 'renew 4'],
    'time-up': [],
  },
  'handing-over': {
    granted: LEADS,
    'not-granted': [],
    'level-broken': [],
    lost: CONTENDS_AGAIN,
    looked: [],
    superseded: [],
    pong: [],
    'no-answer': [],
    heard: [],
    offer: [],
    claim: [],
    yours: [],
    bye: [],
    shown: [],
    hidden: [],
    'page-away': ['resting', 'hide-lease', 'release 4'],
    'page-back': [],
    tick: [],
    'time-up': CONTENDS_AGAIN,
  },
}

const names = Object.keys(STATES) as StateName[]
const events = Object.keys(EVENTS) as EventName[]

describe.each(names)('a tab that is %s', (name) => {
  it.each(events)('on %s', (event) => {
    expect(after(STATES[name], EVENTS[event])).toEqual(EXPECTED[name][event])
  })
})

describe('a follower', () => {
  const { following } = STATES
  const idle = { ...following, askedAt: null }
  const asks = ['following', 'tick in 1500', 'ask']

  it('asks for the leader when it is looked at, or the lease has run out', () => {
    expect(after(idle, EVENTS.tick)).toEqual(asks)
    expect(after(idle, EVENTS.tick, HIDDEN)).toEqual(['following', 'tick in 1500'])
    expect(after(idle, EVENTS.tick, { ...HIDDEN, leaseExpired: true })).toEqual(asks)
    expect(after(idle, EVENTS.shown)).toEqual(['following', 'post claim', 'ask'])
  })

  it('claims the lead of a hidden leader when it is looked at itself', () => {
    const pong = { ...EVENTS.pong, visible: false }
    expect(after(following, pong)).toEqual(['following', 'post claim'])
    expect(after(following, pong, HIDDEN)).toEqual(['following'])
    expect(after(idle, EVENTS.offer, HIDDEN)).toEqual([])
  })

  it('says once that it does not understand the leader, and once that it does', () => {
    const foreign = { ...EVENTS.pong, protocol: PROTOCOL + 1 }
    const first = step(ELECTION, following, foreign, WORLD).state
    expect(after(following, foreign)).toEqual(['following', 'follow for itself'])
    expect(after(first, foreign)).toEqual(['following'])
    expect(after(first, EVENTS.pong)).toEqual(['following', 'follow'])
  })

  it('that is hidden robs nobody, unless nothing else would ever free the lead', () => {
    const expired = { ...HIDDEN, leaseExpired: true }
    expect(after(following, EVENTS['no-answer'], HIDDEN)).toEqual(['following'])
    expect(after(following, EVENTS['no-answer'], { ...expired, level: WEB_LOCK })).toEqual(['following'])
    expect(after(following, EVENTS['no-answer'], expired)).toContain('steal above 4 (no-answer)')
  })

  it('robs nobody when another has taken over meanwhile', () => {
    expect(after(following, EVENTS['no-answer'], { ...WORLD, highest: 5 })).toEqual(['following'])
  })

  it('leaves what a closing page held to the browser where that frees it', () => {
    expect(after(idle, EVENTS.bye, { ...WORLD, level: WEB_LOCK })).toEqual([])
  })

  it.each([
    { count: 1, pause: 15_000 },
    { count: 2, pause: 30_000 },
    { count: 3, pause: Number.POSITIVE_INFINITY },
  ])('that has heard nothing since $count thefts waits $pause ms for the next', ({ count, pause }) => {
    const silent = { ...following, thefts: { count, lastAt: WORLD.now } }
    const at = (ms: number) => after(silent, EVENTS['no-answer'], { ...WORLD, now: WORLD.now + ms })
    expect(at(Math.min(pause - 1, 1e9))).toEqual(['following', 'follow for itself'])
    if (pause < 1e9) expect(at(pause)).toEqual(['following', 'steal above 4 (no-answer)'])
  })
})

describe('thefts', () => {
  const theft = { ...EVENTS.granted, why: 'no-answer' as const }
  const silent = { count: 2, lastAt: 1 }
  const theftsAfter = (state: ElectionState, event: ElectionEvent) =>
    step(ELECTION, state, event, WORLD).state.thefts

  it('are counted, whatever else is not', () => {
    expect(theftsAfter(STATES.following, theft)).toEqual({ count: 1, lastAt: WORLD.now })
    expect(theftsAfter(STATES.following, EVENTS.granted)).toEqual(thefts)
  })

  it.each(['contending', 'leading', 'handing-over'] as const)(
    'are forgotten by a tab that is %s when it hears another',
    (name) => {
      expect(theftsAfter({ ...STATES[name], thefts: silent }, EVENTS.heard)).toEqual(thefts)
    },
  )

  it('are forgotten by a follower when it hears another, but not before its question is answered', () => {
    const asking = { ...STATES.following, thefts: silent }
    expect(theftsAfter(asking, EVENTS.heard)).toEqual(silent)
    expect(theftsAfter({ ...asking, askedAt: null }, EVENTS.heard)).toEqual(thefts)
  })

  it('make a robbed tab ask the server for itself', () => {
    const leading = { ...STATES.leading, thefts: silent }
    expect(after(leading, EVENTS.lost)).toEqual(['contending', 'release 4', 'follow for itself', 'contend'])
    expect(after({ ...STATES.contending, thefts: silent }, EVENTS['not-granted'])).toContain(
      'follow for itself',
    )
  })
})

describe('a leader', () => {
  const { leading } = STATES

  it('offers the lead and hands it over only after five seconds hidden, and only where one leads', () => {
    const soon = { ...HIDDEN, hiddenMs: 4_999 }
    const everyTab = { ...HIDDEN, level: EVERY_TAB }
    expect(after(leading, EVENTS['time-up'], HIDDEN)).toEqual(['leading', 'post offer'])
    expect(after(leading, EVENTS['time-up'], everyTab)).toEqual([])
    expect(after(leading, EVENTS.claim, soon)).toEqual([])
    expect(after(leading, EVENTS.claim, everyTab)).toEqual([])
    expect(after(leading, EVENTS.claim, HIDDEN)).toEqual([
      'handing-over',
      'follow',
      'post yours',
      'time-up in 2000',
    ])
  })

  it('that begins hidden counts from then on', () => {
    expect(after(STATES.contending, EVENTS.granted, HIDDEN)).toContain('time-up in 5000')
  })

  it.each(['looked', 'tick'] as const)('stands down when it knows of a newer one, on %s', (event) => {
    expect(after(leading, EVENTS[event], { ...WORLD, highest: 5 })).toEqual(STANDS_DOWN)
    expect(after(leading, EVENTS[event], { ...WORLD, highest: 5, level: EVERY_TAB })).not.toContain(
      'contending',
    )
  })

  it('does not care what becomes of an older hold of its own', () => {
    const older = { ...EVENTS.lost, hold: holdOf(3) }
    expect(after(leading, older)).toEqual([])
    expect(after(STATES['handing-over'], older)).toEqual([])
  })

  it('keeps the newer of two holds', () => {
    expect(after(leading, { ...EVENTS.granted, hold: holdOf(3) })).toEqual(['leading', 'release 3'])
  })
})
