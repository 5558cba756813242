import type { Intent, IntentState, Waiting } from './intent.ts'

/*
 * The life of a submit in this browser. Each arrow is one transaction, so that two tabs never both take one.
 *
 *              ┌───────────── put-off ─────────────┐
 *              ▼                                   │
 *   add ─►  kept ────────────── claim ─────────► sending ── accept ──► sent
 *            │ ▲                                   │ │
 *            │ └─ resend ─ refused ◄── refuse ─────┤ │   refused ── discard ──► discarded
 *            │ └─ resend ─ expired ◄── expire ─────┘ │
 *            ├─ expire ──────┘  │                    │
 *            └──── discard ─────┴──── discard ───────┴──► recalled ── refuse, conclude ──► discarded
 *
 * `sent` and `discarded` are the ends: the intent leaves the disk. What was tried once may be at the server, though no
 * answer came. So a discard leaves a `recalled` intent, which nobody sends and nobody shows. It stays until the server has
 * been told to cancel the task, or surely has none.
 */

export type IntentEvent =
  /** A page takes it to send it, from the page that had it. */
  | { kind: 'claim'; from: string; sender: string; senderTab: string; at: number }
  /** The try decided nothing. */
  | { kind: 'put-off'; sender: string; waiting: Waiting }
  | { kind: 'accept' }
  | { kind: 'refuse'; sender: string; failure: NonNullable<Intent['failure']> }
  | { kind: 'expire'; failure: NonNullable<Intent['failure']> }
  | { kind: 'discard' }
  /** The server has cancelled what became of a recalled one, or has nothing of it. */
  | { kind: 'conclude' }
  /** The user sends it again, from this page. */
  | { kind: 'resend'; sender: string; senderTab: string; at: number; offset: number | null }

/** What an event makes of an intent. Null: nothing, it stays as it is. */
export type After = Intent | 'sent' | 'discarded' | null

type Step<K extends IntentEvent['kind']> = (intent: Intent, event: Extract<IntentEvent, { kind: K }>) => After

type Steps = { [K in IntentEvent['kind']]: Step<K> }

const stays = () => null
const sent = () => 'sent' as const
const discarded = () => 'discarded' as const

/** Only the page that has it may say what came of it: another one may have taken over meanwhile. */
const isSenders = (intent: Intent, event: { sender: string }) => intent.sender === event.sender

const claim: Step<'claim'> = (intent, { from, sender, senderTab, at }) =>
  intent.sender === from
    ? { ...intent, state: 'sending', sender, senderTab, claimedAt: at, waiting: null }
    : null

const recall: Step<'discard'> = (intent) => ({ ...intent, state: 'recalled', failure: null, waiting: null })

const expire: Step<'expire'> = (intent, { failure }) => ({
  ...intent,
  state: 'expired',
  failure,
  waiting: null,
})

const resend: Step<'resend'> = (intent, { sender, senderTab, at, offset }) => ({
  ...intent,
  state: 'sending',
  sender,
  senderTab,
  claimedAt: at,
  createdAt: at,
  offset,
  failure: null,
})

const refuse: Step<'refuse'> = (intent, event) => {
  if (!isSenders(intent, event)) return null
  // A retry that was refused leaves the task it was to repeat in its place.
  if (intent.retryOf !== null) return 'discarded'
  return { ...intent, state: 'refused', failure: event.failure, waiting: null }
}

/** What the user has been told is over; only another submit changes it. */
const ended: Omit<Steps, 'discard'> = {
  claim: stays,
  'put-off': stays,
  // The request of a page that was thought to be gone: the server has the task, whatever we said.
  accept: sent,
  refuse: stays,
  expire: stays,
  conclude: stays,
  resend,
}

export const INTENT_STEPS: Record<IntentState, Steps> = {
  kept: {
    claim,
    'put-off': stays,
    accept: sent,
    refuse: stays,
    expire,
    discard: recall,
    conclude: stays,
    resend: stays,
  },
  sending: {
    claim,
    'put-off': (intent, event) =>
      isSenders(intent, event) ? { ...intent, state: 'kept', waiting: event.waiting } : null,
    accept: sent,
    refuse,
    expire,
    discard: recall,
    conclude: stays,
    resend: stays,
  },
  recalled: {
    claim: stays,
    'put-off': stays,
    accept: stays,
    refuse: (intent, event) => (isSenders(intent, event) ? 'discarded' : null),
    expire: stays,
    discard: stays,
    conclude: discarded,
    resend: stays,
  },
  // A server that refused it does not have it.
  refused: { ...ended, discard: discarded },
  expired: { ...ended, discard: recall },
}

export function stepIntent(intent: Intent, event: IntentEvent): After {
  const step = INTENT_STEPS[intent.state][event.kind] as Step<IntentEvent['kind']>
  return step(intent, event)
}
