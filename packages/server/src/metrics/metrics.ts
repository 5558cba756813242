import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { WorkKind } from '../engine/work-kind.ts'
import type { SettleResult } from '../tasks/settle-task.ts'

/** What is counted, and under which names. One set per process; `GET /metrics` shows it. */
export interface Metrics {
  registry: Registry
  /** A batch was claimed: of which lanes, and how late each step was. */
  claimed(provider: string, kind: WorkKind, steps: readonly { lane: string; lagMs: number }[]): void
  polled(provider: string, outcome: string): void
  submitted(provider: string, outcome: string): void
  settled(provider: string, status: string, result: SettleResult['kind']): void
  /** Writes that were refused because the claim had been taken over. */
  refused(provider: string, count: number): void
  /** Whether this process holds the lock for a provider's work. */
  holds(name: string, held: boolean): void
  inFlight(provider: string, operation: string, count: number): void
  circuit(provider: string, state: 'closed' | 'open' | 'half-open'): void
  swept(sweep: string, count: number): void
  deadLettered(provider: string, kind: string): void
}

const LAG_SECONDS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 300]
const CIRCUIT_VALUES = { closed: 0, 'half-open': 1, open: 2 }

export function createMetrics(): Metrics {
  const registry = new Registry()
  const registers = [registry]
  const claims = new Counter({
    name: 'holdfast_claims_total',
    help: 'Steps claimed',
    labelNames: ['provider', 'kind', 'lane'],
    registers,
  })
  const statements = new Counter({
    name: 'holdfast_claim_batches_total',
    help: 'Claims that found something',
    labelNames: ['provider', 'kind'],
    registers,
  })
  const lag = new Histogram({
    name: 'holdfast_due_lag_seconds',
    help: 'How late a due step was claimed',
    labelNames: ['provider', 'kind', 'lane'],
    buckets: LAG_SECONDS,
    registers,
  })
  const polls = new Counter({
    name: 'holdfast_polls_total',
    help: 'Polls by what they told',
    labelNames: ['provider', 'outcome'],
    registers,
    collect: () => polled.flush(),
  })
  const polled = createTally((provider, outcome, count) => polls.inc({ provider, outcome }, count))
  const submits = new Counter({
    name: 'holdfast_submits_total',
    help: 'Creates by how they ended',
    labelNames: ['provider', 'outcome'],
    registers,
  })
  const settles = new Counter({
    name: 'holdfast_settles_total',
    help: 'Ends of tasks, and those that came too late',
    labelNames: ['provider', 'status', 'result'],
    registers,
  })
  const refusals = new Counter({
    name: 'holdfast_refused_writes_total',
    help: 'Writes refused because the claim had been taken over',
    labelNames: ['provider'],
    registers,
  })
  const locks = new Gauge({
    name: 'holdfast_lock_held',
    help: '1 while this process holds the lock',
    labelNames: ['name'],
    registers,
  })
  const inFlight = new Gauge({
    name: 'holdfast_calls_in_flight',
    help: 'Calls under way in this process',
    labelNames: ['provider', 'operation'],
    registers,
  })
  const circuits = new Gauge({
    name: 'holdfast_circuit',
    help: '0 closed, 1 half-open, 2 open',
    labelNames: ['provider'],
    registers,
  })
  const sweeps = new Counter({
    name: 'holdfast_swept_total',
    help: 'Rows that a sweep acted on',
    labelNames: ['sweep'],
    registers,
  })
  const letters = new Counter({
    name: 'holdfast_dead_letters_total',
    help: 'Steps given up',
    labelNames: ['provider', 'kind'],
    registers,
  })

  return {
    registry,
    claimed(provider, kind, steps) {
      statements.labels(provider, kind).inc()
      const lanes = new Map<string, { observe(seconds: number): void; count: number }>()
      for (const { lane, lagMs } of steps) {
        let ofLane = lanes.get(lane)
        if (!ofLane) {
          ofLane = { observe: lag.labels(provider, kind, lane).observe, count: 0 }
          lanes.set(lane, ofLane)
        }
        ofLane.count += 1
        ofLane.observe(Math.max(0, lagMs) / 1000)
      }
      for (const [lane, { count }] of lanes) claims.labels(provider, kind, lane).inc(count)
    },
    polled: polled.add,
    submitted: (provider, outcome) => submits.labels(provider, outcome).inc(),
    settled(provider, status, result) {
      settles.labels(provider, status, result).inc()
      if (result !== 'settled') refusals.labels(provider).inc()
    },
    refused: (provider, count) => refusals.labels(provider).inc(count),
    holds: (name, held) => locks.labels(name).set(held ? 1 : 0),
    inFlight: (provider, operation, count) => inFlight.labels(provider, operation).set(count),
    circuit: (provider, state) => circuits.labels(provider).set(CIRCUIT_VALUES[state]),
    swept: (sweep, count) => sweeps.labels(sweep).inc(count),
    deadLettered: (provider, kind) => letters.labels(provider, kind).inc(),
  }
}

/**
 * Counts what happens too often to look its labels up each time. It is added to the metric when that is read.
 */
function createTally(write: (provider: string, outcome: string, count: number) => void) {
  const counts = new Map<string, Map<string, number>>()
  return {
    add(provider: string, outcome: string): void {
      let ofProvider = counts.get(provider)
      if (!ofProvider) {
        ofProvider = new Map()
        counts.set(provider, ofProvider)
      }
      ofProvider.set(outcome, (ofProvider.get(outcome) ?? 0) + 1)
    },
    flush(): void {
      for (const [provider, ofProvider] of counts) {
        for (const [outcome, count] of ofProvider) write(provider, outcome, count)
      }
      counts.clear()
    },
  }
}
