import { beforeEach, describe, expect, it } from 'vitest'
import { createManualClock } from '../test/manual-clock.ts'
import { createMachine, go, type Machine, type StateTable } from './state-machine.ts'

type State = { is: 'off' } | { is: 'on'; since: number }
type Event = { type: 'press' } | { type: 'hold' }
type Effect = { do: 'ring' } | { do: 'say'; what: string }

const OFF: State = { is: 'off' }
const TABLE: StateTable<State, Event, number, Effect> = {
  off: {
    press: (_, __, now) => go({ is: 'on', since: now }, { do: 'ring' }, { do: 'say', what: `on at ${now}` }),
    hold: (state) => go(state),
  },
  on: {
    press: () => go(OFF, { do: 'say', what: 'off' }),
    hold: (state) => go(state, { do: 'say', what: 'still on' }),
  },
}

let clock: ReturnType<typeof createManualClock>
let said: string[]
let onRing: () => void
let machine: Machine<State, Event>

beforeEach(() => {
  clock = createManualClock()
  said = []
  onRing = () => {}
  machine = createMachine({
    table: TABLE,
    initial: OFF,
    clock,
    look: () => 7,
    perform: { ring: () => onRing(), say: ({ what }) => said.push(what) },
  })
})

describe('a state machine', () => {
  it('goes where its table says, and does what it says, in order', () => {
    onRing = () => said.push('ring')
    machine.send({ type: 'press' })
    expect(machine.state()).toEqual({ is: 'on', since: 7 })
    expect(said).toEqual(['ring', 'on at 7'])
  })

  it('leaves undone what belongs to a state that an effect has ended', () => {
    onRing = () => machine.send({ type: 'press' })
    machine.send({ type: 'press' })
    expect(machine.state()).toBe(OFF)
    expect(said).toEqual(['off'])
  })

  it('goes on after an effect that has changed nothing', () => {
    onRing = () => machine.send({ type: 'hold' })
    machine.send({ type: 'press' })
    expect(said).toEqual(['still on', 'on at 7'])
  })

  it('ends timers and what is waited for with the state, not with an event in between', () => {
    machine.send({ type: 'press' })
    const life = machine.life()
    machine.sendLater({ type: 'hold' }, 1_000)
    machine.sendLater({ type: 'hold' }, 3_000)
    machine.send({ type: 'hold' })
    expect(life.aborted).toBe(false)
    clock.advance(1_000)
    expect(said).toEqual(['on at 7', 'still on', 'still on'])
    machine.send({ type: 'press' })
    expect(life.aborted).toBe(true)
    expect(clock.waiting).toBe(0)
  })

  it('tells how late a timer was', () => {
    let asleep = 0
    const { after, now } = clock
    const sleepy = createMachine({
      table: TABLE,
      initial: OFF,
      clock: { after, now: () => now() + asleep },
      look: () => 7,
      perform: { ring() {}, say() {} },
    })
    const late: number[] = []
    sleepy.sendLater({ type: 'press' }, 1_000, (ms) => late.push(ms))
    asleep = 60_000
    clock.advance(1_000)
    expect(late).toEqual([60_000])
    expect(sleepy.state().is).toBe('on')
  })
})
