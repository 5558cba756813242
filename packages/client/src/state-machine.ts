import type { Clock } from './environment/clock.ts'

/** What a rule gives: the next state, and what is to be done, as data. */
export interface Step<State, Effect> {
  state: State
  effects: readonly Effect[]
}

/**
 * The rules of a state machine: what each event does in each state. The compiler finds what is missing. `World` is what
 * a rule may look at besides; rules do nothing themselves, so that a test can walk the whole table.
 */
export type StateTable<State extends { is: string }, Event extends { type: string }, World, Effect> = {
  [S in State['is']]: {
    [E in Event['type']]: (
      state: Extract<State, { is: S }>,
      event: Extract<Event, { type: E }>,
      world: World,
    ) => Step<State, Effect>
  }
}

/** The next state with what is to be done, as a rule gives them. */
export const go = <State, Effect>(state: State, ...effects: Effect[]): Step<State, Effect> => ({
  state,
  effects,
})

/** Looks up the rule and asks it. */
export function step<State extends { is: string }, Event extends { type: string }, World, Effect>(
  table: StateTable<State, Event, World, Effect>,
  state: State,
  event: Event,
  world: World,
): Step<State, Effect> {
  // That the row fits the state and the cell the event is what the table's type says.
  const rule = table[state.is as State['is']][event.type as Event['type']] as (
    ...given: [State, Event, World]
  ) => Step<State, Effect>
  return rule(state, event, world)
}

export interface Machine<State, Event> {
  state(): State
  send(event: Event): void
  /** Sends it after `ms`, unless the state is over by then. `onLate` is told how much later than that it was. */
  sendLater(event: Event, ms: number, onLate?: (ms: number) => void): void
  /** Aborts when the state is over: answers that only it waits for come too late then. */
  life(): AbortSignal
}

export function createMachine<
  State extends { is: string },
  Event extends { type: string },
  World,
  Effect extends { do: string },
>(options: {
  table: StateTable<State, Event, World, Effect>
  initial: State
  clock: Clock
  look(): World
  perform: { [D in Effect['do']]: (effect: Effect & { do: D }) => void }
}): Machine<State, Event> {
  const { table, clock, perform } = options
  let state = options.initial
  let life = new AbortController()
  const timers = new Set<() => void>()

  function send(event: Event) {
    const next = step(table, state, event, options.look())
    if (next.state.is !== state.is) {
      life.abort()
      life = new AbortController()
      for (const callOff of timers) callOff()
      timers.clear()
    }
    state = next.state
    for (const effect of next.effects) {
      ;(perform[effect.do as Effect['do']] as (effect: Effect) => void)(effect)
      // What was called has led to another state: the rest belongs to one that is over.
      if (state !== next.state) return
    }
  }

  return {
    state: () => state,
    send,
    sendLater(event, ms, onLate) {
      const at = clock.now() + ms
      const callOff = clock.after(ms, () => {
        timers.delete(callOff)
        onLate?.(clock.now() - at)
        send(event)
      })
      timers.add(callOff)
    },
    life: () => life.signal,
  }
}
