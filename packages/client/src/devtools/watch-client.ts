import type { Scope } from '../accounts/scope.ts'
import type { HoldfastClient, Insight } from '../create-client.ts'
import { browserEnvironment } from '../environment/environment.ts'
import { findScope } from './find-scope.ts'
import { createMessageLog } from './message-log.ts'
import { happenings, type Moment } from './models/happenings.ts'
import { factsOf, type TabFacts } from './models/tab-facts.ts'
import { tabRows } from './models/tab-rows.ts'
import type { HistoryEntry, PanelModel } from './panel-model.ts'
import { joinRollCall, type RollCall } from './roll-call.ts'
import type { Simulation } from './simulation/create-simulation.ts'

const HISTORY = 100

export interface ClientWatchOptions {
  client: HoldfastClient
  simulation: Simulation | null
  /** Where this tab is, and whether it is in front. */
  place(): Pick<TabFacts, 'visible' | 'path'>
  onChange(): void
}

export interface ClientWatch {
  /** Looks at the client; what is new since the last look is remembered. */
  look(): Pick<PanelModel, 'insight' | 'me' | 'tabs' | 'now' | 'messages' | 'history' | 'simulation'>
  scope(): Scope | null
  /** Calls the roll: every tab with devtools answers. */
  ask(): void
  clearMessages(): void
  /** The page is put away … */
  rest(): void
  /** … and may come back. */
  wake(): void
  stop(): void
}

/** Follows one client for as long as the devtools are there, open or not: the first question is always what happened. */
export function watchClient({ client, simulation, place, onChange }: ClientWatchOptions): ClientWatch {
  // The real browser: a simulated crash must not blind whoever looks at it.
  const { clock, openChannel, localStorage } = browserEnvironment()
  const log = createMessageLog()
  const history: HistoryEntry[] = []
  let insight: Insight = client.inspect()
  let before: Moment | null = null
  let noted = 0
  let scope: Scope | null = null
  let roll: RollCall | null = null
  let said = ''
  let resting = false

  const isDead = () => simulation?.getState().crashed === true
  const me = () => factsOf(insight, place())

  function take() {
    // What a dead client knows does not change.
    if (!isDead()) insight = client.inspect()
    log.take(insight.session?.messages ?? [])
    const { userId, storageProblem } = insight
    const moment: Moment = {
      facts: me(),
      userId,
      storageProblem,
      simulation: simulation?.getState() ?? null,
    }
    for (const happening of happenings(before, moment)) {
      history.push({ ...happening, number: ++noted, at: clock.now() })
      if (history.length > HISTORY) history.shift()
    }
    before = moment
    attend()
  }

  /** Keeps to the roll call of the user who is signed in. */
  function attend() {
    if (resting) return
    if (insight.userId === null) return leave()
    const userEnds = scope && !scope.user.endsWith(`:${encodeURIComponent(insight.userId)}`)
    if (userEnds) leave()
    const saying = JSON.stringify(me())
    scope ??= findScope(insight, localStorage as Storage | null)
    if (scope && openChannel && !roll) {
      roll = joinRollCall({
        open: openChannel,
        scope: scope.user,
        me: () => (isDead() ? null : me()),
        now: clock.now,
        onChange,
      })
      roll?.ask()
    } else if (saying !== said) roll?.tell()
    said = saying
  }

  function leave() {
    roll?.leave()
    roll = null
    scope = null
  }

  const changed = () => {
    take()
    onChange()
  }
  const undo = [client.store.subscribe(changed), simulation?.subscribe(changed)]
  take()

  return {
    look() {
      take()
      const now = clock.now()
      const { session } = insight
      const roster: RollCall['roster'] = roll?.roster ?? new Map()
      return {
        insight,
        me: me(),
        tabs: tabRows({ me: me(), crashed: isDead(), roster, session, now }),
        now,
        messages: log.messages,
        history,
        simulation: simulation?.getState() ?? null,
      }
    },
    scope: () => scope,
    ask: () => roll?.ask(),
    clearMessages: log.clear,
    rest() {
      // What the client still does as its page goes must not bring this tab back to the roll.
      resting = true
      leave()
    },
    wake() {
      resting = false
      changed()
    },
    stop() {
      for (const off of undo) off?.()
      leave()
    },
  }
}
