import { go, type StateTable, type Step } from '../state-machine.ts'
import { type CoreMessage, PROTOCOL } from '../tabs/tab-message.ts'
import type { RoleReason } from './leadership.ts'
import { RENEW_MS } from './lease.ts'
import type { Hold, Level } from './level.ts'

/**
 * Which tab leads, as one tab sees it. Nothing here touches the browser: `createLeadership` does what `effects` say.
 *
 *             page back                granted: it was free
 *     resting ─────────► contending ──────────────────────────────────────► leading
 *        ▲           not  │   ▲  ▲                                          │  ▲  │
 *        │        granted │   │  └── lost, newer leader known, superseded ──┘  │  │ claim, hidden long
 *        │                ▼   │ turn missed                                    │  ▼
 *        │             following ── granted: it was freed, or stolen ──────────┘  handing-over ──► contending
 *        │                          after no answer, yours or bye                   lost, or not taken in time
 *        └── page away, from every state
 */
export type ElectionState =
  /** The page is put away, or has not begun. */
  | { is: 'resting'; reason: 'away'; thefts: Thefts }
  /** It is not known yet whether the lead is free. */
  | { is: 'contending'; reason: RoleReason; thefts: Thefts }
  | {
      is: 'following'
      reason: 'other-leads'
      thefts: Thefts
      /** The highest epoch at the time the leader was asked for; null when no question is under way. */
      askedAt: number | null
      /** Whether the leader tells us what happens. If not, this tab asks the server for itself. */
      understood: boolean
    }
  | { is: 'leading'; reason: RoleReason; thefts: Thefts; hold: Hold }
  /** This tab has stopped leading, and keeps the hold until the other takes it, so that no third gets in between. */
  | { is: 'handing-over'; reason: 'handed-over'; thefts: Thefts; hold: Hold }

/** How often this tab took the lead from a leader that did not answer, since it last heard any other tab. */
interface Thefts {
  count: number
  lastAt: number
}

export type ElectionEvent =
  /** The lead is ours: it was free, became free, or was taken. */
  | { type: 'granted'; hold: Hold; why: RoleReason }
  /** Another tab has it; while waiting for it: our turn came and went while this tab stood still. */
  | { type: 'not-granted' }
  /** The level does not work here (sandboxed frames, blocked site data): the next one is in use. */
  | { type: 'level-broken' }
  /** Another tab took it. */
  | { type: 'lost'; hold: Hold }
  /** A moment to see whether a newer leader is known. */
  | { type: 'looked' }
  /** The server says that a newer leader has the stream. */
  | { type: 'superseded' }
  | { type: 'pong'; visible: boolean; protocol: number }
  | { type: 'no-answer' }
  /** Anything at all from another tab. */
  | { type: 'heard' }
  | { type: 'offer' }
  | { type: 'claim'; from: string }
  /** The lead is handed to this tab. */
  | { type: 'yours' }
  | { type: 'bye'; epoch: number }
  | { type: 'shown' }
  | { type: 'hidden' }
  | { type: 'page-away' }
  | { type: 'page-back' }
  /** Following: time to look for the leader. Leading: time to renew. */
  | { type: 'tick' }
  /** Contending: the pause is over. Leading: hidden for long. Handing over: the other has not taken it. */
  | { type: 'time-up' }

export type ElectionEffect =
  /** Takes the lead if it is free. */
  | { do: 'contend' }
  /** Takes the lead as soon as it is free. */
  | { do: 'wait' }
  /** Asks whether the leader is there. */
  | { do: 'ask' }
  | { do: 'steal'; epoch: number; why: RoleReason }
  | { do: 'lead' | 'renew' | 'release'; hold: Hold }
  | { do: 'follow'; understood: boolean }
  /** Takes this tab's name off the lease. */
  | { do: 'hide-lease' }
  | { do: 'post'; message: CoreMessage }
  /** Sends that event then, if the state is still the same. */
  | { do: 'later'; send: 'tick' | 'time-up'; ms: number }

export interface ElectionWorld {
  readonly now: number
  readonly visible: boolean
  /** How long this tab has been hidden. */
  readonly hiddenMs: number
  readonly leaseExpired: boolean
  /** The highest epoch anyone here has heard of. */
  readonly highest: number
  /** The one in use. */
  readonly level: Pick<Level, 'exclusive' | 'freesItself'>
  /** 0 ≤ n < 1 */
  random(): number
}

/** How long a leader may be hidden before a visible tab takes over. */
const HIDDEN_MS = 5_000
/**
 * How often a follower that can be seen asks for the leader, and a hidden one looks at the lease. With the two seconds
 * for an answer, a leader that stands still is replaced within four.
 */
const LOOK_MS = 1_500
/** A tab that was handed the lead takes it at once, or is gone. */
const HAND_OVER_MS = 2_000
/**
 * A tab that no message reaches takes every leader for dead. Its second theft waits 15 s, its third 30 s, and there is
 * no fourth until it has heard another tab.
 */
const THEFT_PAUSE_MS = 15_000
const MAX_THEFTS = 3

type Next = Step<ElectionState, ElectionEffect>
type In<S extends ElectionState['is']> = Extract<ElectionState, { is: S }>
type On<E extends ElectionEvent['type']> = Extract<ElectionEvent, { type: E }>

const NO_THEFTS: Thefts = { count: 0, lastAt: 0 }

export const RESTING: ElectionState = { is: 'resting', reason: 'away', thefts: NO_THEFTS }

const stay = (state: ElectionState): Next => go(state)

const LOOK: ElectionEffect = { do: 'later', send: 'tick', ms: LOOK_MS }
const RENEW: ElectionEffect = { do: 'later', send: 'tick', ms: RENEW_MS }
const WATCH_HIDING: ElectionEffect = { do: 'later', send: 'time-up', ms: HIDDEN_MS }
const CLAIM: ElectionEffect = { do: 'post', message: { kind: 'claim' } }
const CONTEND: ElectionEffect = { do: 'contend' }

/** A tab that hears another tab would also hear a leader's answer. */
const heard = (state: ElectionState): Next =>
  stay(state.thefts.count > 0 ? { ...state, thefts: NO_THEFTS } : state)

const mayRob = ({ count, lastAt }: Thefts, now: number) =>
  count === 0 || (count < MAX_THEFTS && now - lastAt >= THEFT_PAUSE_MS * 2 ** (count - 1))

const contend = ({ thefts, reason }: ElectionState, ...effects: ElectionEffect[]): Next =>
  go({ is: 'contending', reason, thefts }, ...effects, CONTEND)

const contendAgain = (state: ElectionState): Next => contend(state)

function lead({ is, thefts }: ElectionState, { hold, why }: On<'granted'>, world: ElectionWorld): Next {
  const counted = why === 'no-answer' ? { count: thefts.count + 1, lastAt: world.now } : thefts
  return go(
    { is: 'leading', reason: why, thefts: counted, hold },
    // A leader that gets a newer hold has its timers.
    ...(is === 'leading' ? [] : [RENEW]),
    ...(world.visible ? [] : [WATCH_HIDING]),
    { do: 'lead', hold },
  )
}

const rest = (_: ElectionState): Next => go(RESTING, { do: 'hide-lease' })

/** Stops leading. Without a word from any other tab since the last theft, it does not wait for the new leader's. */
const standDown = ({ hold, thefts }: In<'leading'>, then: ElectionEffect): Next =>
  go(
    { is: 'contending', reason: 'robbed', thefts },
    { do: 'release', hold },
    { do: 'follow', understood: thefts.count === 0 },
    then,
  )

/** A leader that knows of a newer one stands down. */
const unlessOutdated = (state: In<'leading'>, world: ElectionWorld, ...effects: ElectionEffect[]): Next =>
  world.level.exclusive && world.highest > state.hold.epoch
    ? standDown(state, CONTEND)
    : go(state, ...effects)

const hasHiddenLong = ({ level, hiddenMs }: ElectionWorld) => level.exclusive && hiddenMs >= HIDDEN_MS

const claimIfSeen = (state: ElectionState, _: unknown, { visible }: ElectionWorld): Next =>
  visible ? go(state, CLAIM) : stay(state)

const takeWhatIsOurs = (state: ElectionState, _: unknown, { highest }: ElectionWorld): Next =>
  go(state, { do: 'steal', epoch: highest, why: 'handed-to-us' })

/** A page that closes has no time to write that it let go: its word is enough. */
const takeWhatIsLeft = (state: ElectionState, { epoch }: On<'bye'>, { level }: ElectionWorld): Next =>
  level.freesItself ? stay(state) : go(state, { do: 'steal', epoch, why: 'freed' })

/** Asks for the leader, unless that is under way. */
const ask = (state: In<'following'>, { highest }: ElectionWorld, ...effects: ElectionEffect[]): Next =>
  state.askedAt === null
    ? go({ ...state, askedAt: highest }, ...effects, { do: 'ask' })
    : go(state, ...effects)

function follow({ thefts }: ElectionState, _: unknown, world: ElectionWorld): Next {
  const understood = thefts.count === 0
  const state = { is: 'following', reason: 'other-leads', thefts, askedAt: null, understood } as const
  return ask(state, world, { do: 'follow', understood }, { do: 'wait' }, LOOK)
}

/** Says whether it is understood only when that is news: a connection that is opened anew asks the server anew. */
const understand = (state: In<'following'>, understood: boolean, ...effects: ElectionEffect[]): Next =>
  state.understood === understood
    ? go(state, ...effects)
    : go({ ...state, understood }, ...effects, { do: 'follow', understood })

const answered = (state: In<'following'>, { visible, protocol }: On<'pong'>, world: ElectionWorld): Next =>
  understand(
    { ...state, thefts: NO_THEFTS, askedAt: null },
    protocol === PROTOCOL,
    // A leader keeps the lead until it has been hidden for long. This tab may not have been there for its offer.
    ...(world.visible && !visible ? [CLAIM] : []),
  )

function unanswered(following: In<'following'>, _: unknown, world: ElectionWorld): Next {
  const { askedAt, thefts } = following
  const state = { ...following, askedAt: null }
  // A hidden tab leaves it to a visible one, unless nothing but us would ever free it.
  if (!world.visible && (world.level.freesItself || !world.leaseExpired)) return stay(state)
  // Another one has taken over meanwhile.
  if (askedAt === null || world.highest > askedAt) return stay(state)
  if (!mayRob(thefts, world.now)) return understand(state, false)
  return go(state, { do: 'steal', epoch: askedAt, why: 'no-answer' })
}

export const ELECTION: StateTable<ElectionState, ElectionEvent, ElectionWorld, ElectionEffect> = {
  resting: {
    granted: (state, { hold }) => go(state, { do: 'release', hold }),
    'not-granted': stay,
    'level-broken': stay,
    lost: stay,
    looked: stay,
    superseded: stay,
    pong: stay,
    'no-answer': stay,
    heard: stay,
    offer: stay,
    claim: stay,
    yours: stay,
    bye: stay,
    shown: stay,
    hidden: stay,
    'page-away': stay,
    'page-back': contendAgain,
    tick: stay,
    'time-up': stay,
  },
  contending: {
    granted: lead,
    'not-granted': follow,
    'level-broken': contendAgain,
    lost: stay,
    looked: stay,
    superseded: stay,
    pong: stay,
    'no-answer': stay,
    heard,
    offer: claimIfSeen,
    claim: stay,
    yours: takeWhatIsOurs,
    bye: takeWhatIsLeft,
    shown: claimIfSeen,
    hidden: stay,
    'page-away': rest,
    'page-back': stay,
    tick: stay,
    'time-up': contendAgain,
  },
  following: {
    granted: lead,
    'not-granted': contendAgain,
    'level-broken': contendAgain,
    lost: stay,
    looked: stay,
    superseded: stay,
    pong: answered,
    'no-answer': unanswered,
    // A question that was asked in vain before this tab could hear is no reason to rob.
    heard: (state) => (state.askedAt === null ? heard(state) : stay(state)),
    offer: claimIfSeen,
    claim: stay,
    yours: takeWhatIsOurs,
    bye: takeWhatIsLeft,
    shown: (state, _, world) => ask(state, world, CLAIM),
    hidden: stay,
    'page-away': rest,
    'page-back': stay,
    tick: (state, _, world) =>
      world.visible || world.leaseExpired ? ask(state, world, LOOK) : go(state, LOOK),
    'time-up': stay,
  },
  leading: {
    // Taken and waited for at the same time: the newer hold is the one that counts.
    granted: (state, event, world) =>
      event.hold.epoch < state.hold.epoch
        ? go(state, { do: 'release', hold: event.hold })
        : lead(state, event, world),
    'not-granted': stay,
    'level-broken': stay,
    lost: (state, { hold }) => (hold === state.hold ? standDown(state, CONTEND) : stay(state)),
    looked: (state, _, world) => unlessOutdated(state, world),
    superseded: (state, _, { random }) =>
      standDown(state, { do: 'later', send: 'time-up', ms: 1_000 + random() * 1_000 }),
    pong: stay,
    'no-answer': stay,
    heard,
    offer: stay,
    claim: (state, { from }, world) =>
      hasHiddenLong(world)
        ? go(
            { ...state, is: 'handing-over', reason: 'handed-over' },
            { do: 'follow', understood: true },
            { do: 'post', message: { kind: 'yours', to: from } },
            { do: 'later', send: 'time-up', ms: HAND_OVER_MS },
          )
        : stay(state),
    yours: stay,
    bye: stay,
    shown: stay,
    hidden: (state) => go(state, WATCH_HIDING),
    'page-away': ({ hold }) =>
      go(
        RESTING,
        { do: 'hide-lease' },
        { do: 'release', hold },
        { do: 'post', message: { kind: 'bye', epoch: hold.epoch } },
      ),
    'page-back': stay,
    tick: (state, _, world) => unlessOutdated(state, world, RENEW, { do: 'renew', hold: state.hold }),
    'time-up': (state, _, world) =>
      hasHiddenLong(world) ? go(state, { do: 'post', message: { kind: 'offer' } }) : stay(state),
  },
  'handing-over': {
    granted: lead,
    'not-granted': stay,
    'level-broken': stay,
    lost: (state, { hold }) => (hold === state.hold ? contend(state, { do: 'release', hold }) : stay(state)),
    looked: stay,
    superseded: stay,
    pong: stay,
    'no-answer': stay,
    heard,
    offer: stay,
    claim: stay,
    yours: stay,
    bye: stay,
    shown: stay,
    hidden: stay,
    'page-away': ({ hold }) => go(RESTING, { do: 'hide-lease' }, { do: 'release', hold }),
    'page-back': stay,
    tick: stay,
    'time-up': (state) => contend(state, { do: 'release', hold: state.hold }),
  },
}
