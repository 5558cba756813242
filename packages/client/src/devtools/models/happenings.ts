import type { ClientState } from '../../store/task-store.ts'
import type { SimulationState } from '../simulation/create-simulation.ts'
import { CONNECTION_TEXT, PROBLEM_TEXT, type Tone } from './state-text.ts'
import type { TabFacts } from './tab-facts.ts'
import { whyRole } from './why-role.ts'

/** What is compared from one moment to the next. */
export interface Moment {
  facts: TabFacts
  userId: string | null
  storageProblem: ClientState['storageProblem']
  simulation: SimulationState | null
}

export interface Happening {
  text: string
  tone: Tone
}

/** What happened in this tab between two moments, in sentences. */
export function happenings(before: Moment | null, after: Moment): Happening[] {
  const told: Happening[] = []
  const tell = (tone: Tone, text: string) => told.push({ text, tone })
  const { facts } = after
  if (before?.simulation?.crashed !== after.simulation?.crashed && after.simulation?.crashed) {
    tell('bad', 'Crashed (simulated): it stands still, and its lock is free.')
    return told
  }
  if (before?.simulation?.hidden !== after.simulation?.hidden && (before || after.simulation?.hidden)) {
    tell('calm', after.simulation?.hidden ? 'Hidden (simulated).' : 'Visible again.')
  }
  if (before?.simulation?.offline !== after.simulation?.offline && (before || after.simulation?.offline)) {
    tell('calm', after.simulation?.offline ? 'The network is gone (simulated).' : 'The network is back.')
  }
  if (before?.userId !== after.userId) {
    if (after.userId) tell('calm', `Signed in as ${after.userId}.`)
    else if (before) tell('calm', 'Signed out.')
  }
  if (!after.userId) return told
  const led = before?.facts.role === 'leader'
  const leads = facts.role === 'leader'
  const begins = leads && (!led || before?.facts.epoch !== facts.epoch)
  if (begins) {
    tell('good', `Leads, epoch ${facts.epoch}. ${whyRole(facts)}`)
  } else if (!leads && (led || before?.facts.reason !== facts.reason) && facts.reason !== 'away') {
    tell('calm', `Follows. ${whyRole(facts)}`)
  }
  const { connection } = facts
  // Who begins to lead has no connection yet, which is nothing to tell.
  const isNews = connection === 'offline' ? !begins && led : connection !== 'follower'
  if (before?.facts.connection !== connection && isNews) {
    const { label, about, tone } = CONNECTION_TEXT[connection]
    tell(tone, `${label}: ${about}`)
  }
  if (after.storageProblem && before?.storageProblem !== after.storageProblem) {
    tell('bad', `Nothing outlives this page: ${PROBLEM_TEXT[after.storageProblem]}`)
  }
  return told
}
