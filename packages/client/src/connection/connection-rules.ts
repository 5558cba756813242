import { go, type StateTable, type Step } from '../state-machine.ts'
import type { StreamOutcome } from '../transport/transport.ts'
import { backoff } from './backoff.ts'

/**
 * How the leading tab keeps in touch with the server. Nothing here touches the network: `connect` does what `effects`
 * say. `begin` decides what comes next: what is missing is asked for first, then a stream, else a poll.
 *
 *              ┌───────────────────────── begin ◄──────────────────────────┐
 *              ▼                            ▼                               │
 *     asking: one request          streaming: push                          │
 *       │    │ failed                │ broke, or was ended                  │
 *       │    ▼                       ▼                                      │
 *       │  retrying: offline, or a moment until the next stream ── time up ─┤
 *       │ answered                                                          │
 *       └► between-polls: polling ── time up, woken, something new to watch ┘
 *
 *     over: stopped, or a newer leader has the stream. From every state.
 */
export type ConnectionState = Memory &
  (
    | {
        is: 'asking'
        /** Nothing was complete yet: a stream may follow. Else it is a poll. */
        first: boolean
      }
    | {
        is: 'streaming'
        /** Infinity: not yet. */
        openedAt: number
      }
    | { is: 'between-polls'; until: number }
    | { is: 'retrying' }
    | { is: 'over' }
  )

interface Memory {
  /** In a row, of anything: the longer, the longer the pause. */
  failures: number
  /** In a row, of streams. */
  quickFailures: number
  /** After too many of those, streams have to wait until then. */
  pushAgainAt: number
  /** For the next stream. */
  freshToken: boolean
}

export type ConnectionEvent =
  | { type: 'synced' }
  | { type: 'sync-failed'; retryAfterMs: number }
  | { type: 'opened' }
  | { type: 'news' }
  /** Null: it could not be opened, or broke with an error. */
  | { type: 'stream-ended'; outcome: StreamOutcome | null; retryAfterMs: number }
  | { type: 'time-up' }
  /** Something says that it may work now. */
  | { type: 'woken'; why: 'online' | 'visible' }
  /** There is something new to watch: the wait for the next poll may be too long now. */
  | { type: 'nudged' }
  | { type: 'stopped' }

export type ConnectionStatus = 'push' | 'polling' | 'offline'

export type ConnectionEffect =
  | { do: 'sync' | 'check-silence' | 'superseded' }
  | { do: 'stream'; freshToken: boolean }
  | { do: 'status'; status: ConnectionStatus }
  /** Sends that event later, if the state is still the same. */
  | { do: 'time-up'; ms: number }

export interface ConnectionWorld {
  readonly now: number
  /** 0 ≤ n < 1 */
  random(): number
  /** False: streams are not to be used here. */
  readonly push: boolean
  /** Whether the state is complete and has a cursor to resume from. */
  isSynced(): boolean
  pollInterval(): number
}

/** A stream that lived this long was fine, whatever ended it. */
const QUICK_MS = 10_000
const QUICK_FAILURES = 3
/** How long to poll before push gets another chance. */
const PUSH_AGAIN_MS = 60_000

type Next = Step<ConnectionState, ConnectionEffect>
type In<S extends ConnectionState['is']> = Extract<ConnectionState, { is: S }>
type On<E extends ConnectionEvent['type']> = Extract<ConnectionEvent, { type: E }>

export const NOT_CONNECTED: ConnectionState = {
  is: 'retrying',
  failures: 0,
  quickFailures: 0,
  pushAgainAt: 0,
  freshToken: false,
}

const stay = (state: ConnectionState): Next => go(state)

const end = (state: ConnectionState): Next => go({ ...state, is: 'over' })

const mayPush = ({ quickFailures, pushAgainAt }: Memory, { push, now }: ConnectionWorld) =>
  push && (quickFailures < QUICK_FAILURES || now >= pushAgainAt)

const stream = (state: ConnectionState): Next =>
  go(
    { ...state, is: 'streaming', openedAt: Number.POSITIVE_INFINITY },
    { do: 'stream', freshToken: state.freshToken },
  )

function begin(state: ConnectionState, _: unknown, world: ConnectionWorld): Next {
  const first = !world.isSynced()
  return !first && mayPush(state, world)
    ? stream(state)
    : go({ ...state, is: 'asking', first }, { do: 'sync' })
}

const retry = (state: ConnectionState, ms: number, ...effects: ConnectionEffect[]): Next =>
  go({ ...state, is: 'retrying' }, ...effects, { do: 'time-up', ms })

const fail = (state: ConnectionState, atLeast: number, { random }: ConnectionWorld): Next =>
  retry({ ...state, failures: state.failures + 1 }, Math.max(atLeast, backoff(state.failures, random)), {
    do: 'status',
    status: 'offline',
  })

function answered(state: In<'asking'>, _: unknown, world: ConnectionWorld): Next {
  if (state.first && mayPush(state, world)) return stream(state)
  // Where every tab polls for itself, jitter keeps them from asking in step.
  const ms = world.pollInterval() * (0.9 + world.random() / 5)
  return go(
    { ...state, is: 'between-polls', failures: 0, until: world.now + ms },
    { do: 'status', status: 'polling' },
    { do: 'time-up', ms },
  )
}

function streamEnded(state: In<'streaming'>, event: On<'stream-ended'>, world: ConnectionWorld): Next {
  const { outcome } = event
  const { now, random } = world
  if (outcome === 'superseded') return go({ ...state, is: 'over' }, { do: 'superseded' })

  const lived = now - state.openedAt
  const freshToken = outcome === 'token-expired'
  // A token that is refused as soon as it was renewed is a failure like any other.
  const renew = freshToken && lived >= 1_000
  let { quickFailures, pushAgainAt } = state
  if (outcome === 'mute') quickFailures = QUICK_FAILURES
  // Some proxies let the beginning through and hold back the rest: such a stream lives, but is not fine.
  else if (lived >= QUICK_MS && outcome !== 'silent') quickFailures = 0
  else if (!renew && outcome !== 'shutdown') quickFailures++

  const pollsNow = quickFailures >= QUICK_FAILURES
  if (pollsNow) pushAgainAt = now + PUSH_AGAIN_MS * (0.5 + random() / 2)
  const next = { ...state, freshToken, quickFailures, pushAgainAt }
  if (pollsNow || renew) return begin(next, event, world)
  if (!outcome) return fail(next, event.retryAfterMs, world)
  // Also after a first quick failure within a second: a replica may die right after another one did.
  return retry(next, backoff(quickFailures >> 1, random))
}

/** Whatever failed may work now. Streams get their chance when the network is back. */
const hope = <S extends ConnectionState>(state: S, { why }: On<'woken'>): S => ({
  ...state,
  failures: 0,
  pushAgainAt: why === 'online' ? 0 : state.pushAgainAt,
})

const beginWithHope = (state: ConnectionState, event: On<'woken'>, world: ConnectionWorld): Next =>
  begin(hope(state, event), event, world)

export const CONNECTION_RULES: StateTable<
  ConnectionState,
  ConnectionEvent,
  ConnectionWorld,
  ConnectionEffect
> = {
  asking: {
    synced: answered,
    // If a poll fails nothing at all comes through, so this is not about streams: the first sign of life may be one.
    'sync-failed': (state, { retryAfterMs }, world) =>
      fail(state.first ? state : { ...state, pushAgainAt: 0 }, retryAfterMs, world),
    opened: stay,
    news: stay,
    'stream-ended': stay,
    'time-up': stay,
    woken: (state, event) => stay(hope(state, event)),
    nudged: stay,
    stopped: end,
  },
  streaming: {
    synced: stay,
    'sync-failed': stay,
    opened: (state, _, { now }) => stay({ ...state, openedAt: now }),
    news: (state) => go({ ...state, failures: 0 }, { do: 'status', status: 'push' }),
    'stream-ended': streamEnded,
    'time-up': stay,
    woken: (state, event) => go(hope(state, event), { do: 'check-silence' }),
    nudged: stay,
    stopped: end,
  },
  'between-polls': {
    synced: stay,
    'sync-failed': stay,
    opened: stay,
    news: stay,
    'stream-ended': stay,
    'time-up': begin,
    woken: beginWithHope,
    nudged: (state, event, world) =>
      state.until - world.now > world.pollInterval() * 1.1 ? begin(state, event, world) : stay(state),
    stopped: end,
  },
  retrying: {
    synced: stay,
    'sync-failed': stay,
    opened: stay,
    news: stay,
    'stream-ended': stay,
    'time-up': begin,
    woken: beginWithHope,
    nudged: stay,
    stopped: end,
  },
  over: {
    synced: stay,
    'sync-failed': stay,
    opened: stay,
    news: stay,
    'stream-ended': stay,
    'time-up': stay,
    woken: stay,
    nudged: stay,
    stopped: stay,
  },
}
