import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { WorkName } from '../engine/work-kind.ts'
import type { SettleResult } from '../tasks/settle-task.ts'

/** What is counted, and under which names. One set per process; `GET /metrics` shows it. */
export interface Metrics {
  registry: Registry
  /** A batch was claimed: of which lanes, and how late each step was. */
  claimed(provider: string, kind: WorkName, steps: readonly { lane: string; lagMs: number }[]): void
  polled(provider: string, outcome: string): void
  submitted(provider: string, outcome: string): void
  settled(provider: string, status: string, result: SettleResult['kind']): void
  /** Writes that were refused because the claim had been taken over. */
  refused(provider: string, count: number): void
  /** Whether this process holds the lock for a provider's work. */
  holds(name: string, held: boolean): void
  inFlight(provider: string, operation: string, count: number): void
  circuit(provider: string, state: 'closed' | 'open' | 'half-open'): void
  /** A result file was copied, while its source was still good for so long. */
  mirrored(provider: string, file: { bytes: number; leftMs: number | null }): void
  /** A try to copy one failed, at its source or at the store. */
  mirrorFailed(provider: string, at: 'source' | 'store', code: string): void
  /** Files being copied by this process, and whether the store answers. */
  mirroring(store: string, files: number, circuit: 'closed' | 'open' | 'half-open'): void
  /** Files that wait to be copied, by all processes together. */
  mirrorQueue(files: { waiting: number; due: number }): void
  /** Steps that are due and that nobody has claimed, over all processes: all of them, each time. Null: not known. */
  workWaiting(
    work: readonly { provider: string; kind: string; count: number; oldestMs: number }[] | null,
  ): void
  swept(sweep: string, count: number): void
  deadLettered(provider: string, kind: string): void
  heardWebhook(provider: string, hearing: string): void
  /** A webhook of ours was sent, and taken or not. */
  delivered(endpoint: string, outcome: string): void
  /** Streams open at this process. */
  streams(open: number): void
  /** A client that took nothing for too long was cut off. */
  cutStream(): void
}

const LAG_SECONDS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 300]
/** Below 0: the source had outlived what was promised. */
const MARGIN_SECONDS = [0, 5, 15, 30, 60, 300, 600, 900, 1_200, 3_600, 86_400]
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
  const deliveries = new Counter({
    name: 'holdfast_deliveries_total',
    help: 'Webhooks sent to the app, by how they ended',
    labelNames: ['endpoint', 'outcome'],
    registers,
  })
  const webhooks = new Counter({
    name: 'holdfast_webhooks_total',
    help: 'Webhooks by what became of them',
    labelNames: ['provider', 'hearing'],
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
  const mirrored = new Counter({
    name: 'holdfast_mirrored_files_total',
    help: 'Result files copied to the object store',
    labelNames: ['provider'],
    registers,
  })
  const mirroredBytes = new Counter({
    name: 'holdfast_mirrored_bytes_total',
    help: 'Bytes of result files copied to the object store',
    labelNames: ['provider'],
    registers,
  })
  const mirrorMargin = new Histogram({
    name: 'holdfast_mirror_margin_seconds',
    help: 'How long a source was still good for when its file had been copied',
    labelNames: ['provider'],
    buckets: MARGIN_SECONDS,
    registers,
  })
  const mirrorFailures = new Counter({
    name: 'holdfast_mirror_failures_total',
    help: 'Tries to copy a result file that failed, by whose failure it was',
    labelNames: ['provider', 'at', 'code'],
    registers,
  })
  const mirroring = new Gauge({
    name: 'holdfast_mirrors_in_flight',
    help: 'Result files being copied by this process',
    labelNames: ['store'],
    registers,
  })
  const mirrorQueue = new Gauge({
    name: 'holdfast_mirror_queue',
    help: 'Result files that wait to be copied, and those of them that could be by now',
    labelNames: ['state'],
    registers,
  })
  const workWaiting = new Gauge({
    name: 'holdfast_work_waiting',
    help: 'Steps that are due and not claimed, over all processes',
    labelNames: ['provider', 'kind'],
    registers,
  })
  const everWaited = new Map<string, { provider: string; kind: string }>()
  const oldestDue = new Gauge({
    name: 'holdfast_oldest_due_seconds',
    help: 'For how long the oldest step that is due and not claimed has been so',
    labelNames: ['provider', 'kind'],
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
  const streams = new Gauge({ name: 'holdfast_streams', help: 'Streams open at this process', registers })
  const cutStreams = new Counter({
    name: 'holdfast_streams_cut_total',
    help: 'Streams cut off because their client took nothing for too long',
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
    mirrored(provider, { bytes, leftMs }) {
      mirrored.labels(provider).inc()
      mirroredBytes.labels(provider).inc(bytes)
      if (leftMs !== null) mirrorMargin.labels(provider).observe(leftMs / 1000)
    },
    mirrorFailed: (provider, at, code) => mirrorFailures.labels(provider, at, code).inc(),
    mirroring(store, files, circuit) {
      mirroring.labels(store).set(files)
      circuits.labels('object-store').set(CIRCUIT_VALUES[circuit])
    },
    mirrorQueue({ waiting, due }) {
      mirrorQueue.labels('waiting').set(waiting)
      mirrorQueue.labels('due').set(due)
    },
    workWaiting(work) {
      if (work === null) {
        workWaiting.reset()
        oldestDue.reset()
        everWaited.clear()
        return
      }
      // What waited before and does not any more is 0, and not gone.
      for (const { provider, kind } of everWaited.values()) {
        workWaiting.labels(provider, kind).set(0)
        oldestDue.labels(provider, kind).set(0)
      }
      for (const { provider, kind, count, oldestMs } of work) {
        everWaited.set(JSON.stringify([provider, kind]), { provider, kind })
        workWaiting.labels(provider, kind).set(count)
        oldestDue.labels(provider, kind).set(oldestMs / 1000)
      }
    },
    swept: (sweep, count) => sweeps.labels(sweep).inc(count),
    delivered: (endpoint, outcome) => deliveries.labels(endpoint, outcome).inc(),
    heardWebhook: (provider, hearing) => webhooks.inc({ provider, hearing }),
    streams: (open) => streams.set(open),
    cutStream: () => cutStreams.inc(),
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
