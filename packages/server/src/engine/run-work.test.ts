import { describe, expect, it } from 'vitest'
import { createMemoryLog } from '../../test/memory-log.ts'
import { createWakeUp } from '../concurrency/wake-up.ts'
import { createCircuitBreaker } from './circuit-breaker.ts'
import { runWork } from './run-work.ts'
import { createSlots, type Slots } from './slots.ts'
import type { Claimed, WorkKind } from './work-kind.ts'

/** Due work of one kind, and the loop that does it. */
function setUp(slots: Slots, name: WorkKind<Claimed>['name'], stopping: AbortSignal) {
  const due: Claimed[] = []
  const underWay = new Map<string, () => void>()
  const wakeUp = createWakeUp()
  const kind: WorkKind<Claimed> = {
    name,
    of: 'somebody',
    slots,
    // Nothing comes due again in the time of a test.
    leaseMs: 3_600_000,
    claim: async ({ count }) => ({ works: due.splice(0, count), retryMs: null }),
    run: ({ workId }) => new Promise((resolve) => underWay.set(workId, resolve)),
  }
  const running = runWork(kind, { log: createMemoryLog().log, wakeUp, stopping })
  return {
    running,
    underWay,
    add(...ids: string[]) {
      for (const workId of ids)
        due.push({ workId, epoch: 1, taskId: workId, traceId: null, lane: '', lagMs: 0 })
      wakeUp.wake()
    },
    end(workId: string) {
      underWay.get(workId)?.()
      underWay.delete(workId)
    },
  }
}

async function withLoops(
  slots: { poll: Slots; other: Slots },
  name: 'send' | 'cancel',
  test: (polls: ReturnType<typeof setUp>, others: ReturnType<typeof setUp>) => Promise<void>,
): Promise<void> {
  const stopping = new AbortController()
  const polls = setUp(slots.poll, 'poll', stopping.signal)
  const others = setUp(slots.other, name, stopping.signal)
  try {
    await test(polls, others)
  } finally {
    stopping.abort()
    for (const loop of [polls, others]) for (const id of [...loop.underWay.keys()]) loop.end(id)
    await Promise.all([polls.running, others.running])
  }
}

const slotsFor = (capacity: number, breaker = createCircuitBreaker(1)) =>
  createSlots({ breaker, atOnce: capacity, capacity: () => capacity, fewest: () => 1 })

describe('kinds that share their slots', () => {
  it('get the room that another kind frees', async () => {
    const shared = slotsFor(2)
    await withLoops({ poll: shared, other: shared }, 'cancel', async (polls, cancels) => {
      polls.add('p1', 'p2')
      await expect.poll(() => polls.underWay.size).toBe(2)
      cancels.add('c1')
      await new Promise((resolve) => setTimeout(resolve, 20))
      polls.end('p1')
      await expect.poll(() => [...cancels.underWay.keys()], { timeout: 500 }).toEqual(['c1'])
    })
  })

  it('get their part of it while the other always has more to do', async () => {
    const shared = slotsFor(1)
    await withLoops({ poll: shared, other: shared }, 'cancel', async (polls, cancels) => {
      polls.add('p1')
      await expect.poll(() => polls.underWay.size).toBe(1)
      polls.add('p2', 'p3', 'p4')
      cancels.add('c1')
      await new Promise((resolve) => setTimeout(resolve, 20))
      let polled = 0
      while (!cancels.underWay.has('c1') && polled < 3) {
        for (const id of [...polls.underWay.keys()]) {
          polls.end(id)
          polled += 1
        }
        await new Promise((resolve) => setTimeout(resolve, 10))
      }
      expect([...cancels.underWay.keys()]).toEqual(['c1'])
      expect(polled).toBeLessThan(3)
    })
  })
})

describe('kinds that share a circuit', () => {
  it('go on when the probe of another kind has closed it', async () => {
    const breaker = createCircuitBreaker(1)
    const slots = { poll: slotsFor(5, breaker), other: slotsFor(5, breaker) }
    breaker.failed(performance.now() - 10_000)
    await withLoops(slots, 'send', async (polls, sends) => {
      polls.add('p1')
      await expect.poll(() => breaker.state).toBe('half-open')
      sends.add('s1')
      await new Promise((resolve) => setTimeout(resolve, 20))
      expect(sends.underWay.size).toBe(0)
      breaker.succeeded()
      polls.end('p1')
      await expect.poll(() => [...sends.underWay.keys()], { timeout: 900 }).toEqual(['s1'])
    })
  })
})
