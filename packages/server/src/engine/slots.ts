import { createMutex, type Mutex } from '../concurrency/mutex.ts'
import type { WakeUp } from '../concurrency/wake-up.ts'
import type { CircuitBreaker } from './circuit-breaker.ts'

/** How much of some kinds of work may be claimed and unfinished at a time. Kinds with a limit in common share one. */
export interface Slots {
  /** How many run at a time; others that are claimed wait for them. */
  readonly atOnce: number
  readonly breaker: CircuitBreaker
  /** Claimed and unfinished. */
  underWay: number
  /** How many more may be claimed now. 0: none, or too few to be worth a statement. */
  room(): number
  /** Who found no room, of all kinds that share these slots, longest first. Woken when there is some. */
  readonly waiting: Set<WakeUp>
  /** Claims take turns: at the same moment, each would take all the room that is left. */
  readonly claiming: Mutex
}

/** More cost as much per step, and the first of them would wait longer. */
const MOST_PER_CLAIM = 1_000

export interface SlotsOptions {
  breaker: CircuitBreaker
  /** How many may be claimed and unfinished. */
  capacity: () => number
  atOnce: number
  /** The fewest that are worth a claim. */
  fewest: () => number
}

export function createSlots({ breaker, capacity, atOnce, fewest }: SlotsOptions): Slots {
  return {
    atOnce,
    breaker,
    underWay: 0,
    waiting: new Set(),
    claiming: createMutex(),
    room() {
      const free = capacity() - this.underWay
      return free < Math.max(1, fewest()) ? 0 : Math.min(free, MOST_PER_CLAIM)
    },
  }
}
