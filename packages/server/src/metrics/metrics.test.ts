import { describe, expect, it } from 'vitest'
import { createMetrics, type Metrics } from './metrics.ts'

/** What has labels: the rest is there from the start, as nothing. */
async function lines(metrics: Metrics): Promise<string[]> {
  return (await metrics.registry.metrics())
    .split('\n')
    .filter((line) => line.startsWith('holdfast_') && line.includes('{'))
}

describe('createMetrics (E6)', () => {
  it('counts claims, and how late each step was', async () => {
    const metrics = createMetrics()
    metrics.claimed(
      'kie',
      'poll',
      [40, 900, 4_000].map((lagMs) => ({ lane: 'vip_short', lagMs })),
    )
    metrics.claimed('kie', 'poll', [{ lane: 'vip_short', lagMs: -5 }])
    const shown = await lines(metrics)
    expect(shown).toContain('holdfast_claims_total{provider="kie",kind="poll",lane="vip_short"} 4')
    expect(shown).toContain('holdfast_claim_batches_total{provider="kie",kind="poll"} 2')
    expect(shown).toContain(
      'holdfast_due_lag_seconds_bucket{le="0.05",provider="kie",kind="poll",lane="vip_short"} 2',
    )
    expect(shown).toContain(
      'holdfast_due_lag_seconds_bucket{le="1",provider="kie",kind="poll",lane="vip_short"} 3',
    )
    expect(shown).toContain(
      'holdfast_due_lag_seconds_bucket{le="5",provider="kie",kind="poll",lane="vip_short"} 4',
    )
    expect(shown).toContain('holdfast_due_lag_seconds_sum{provider="kie",kind="poll",lane="vip_short"} 4.94')
  })

  it('counts what came too late among the refused writes', async () => {
    const metrics = createMetrics()
    metrics.settled('kie', 'completed', 'settled')
    metrics.settled('kie', 'failed', 'fenced')
    metrics.settled('kie', 'completed', 'already-ended')
    metrics.refused('kie', 3)
    const shown = await lines(metrics)
    expect(shown).toContain('holdfast_settles_total{provider="kie",status="completed",result="settled"} 1')
    expect(shown).toContain('holdfast_settles_total{provider="kie",status="failed",result="fenced"} 1')
    expect(shown).toContain('holdfast_refused_writes_total{provider="kie"} 5')
  })

  it('shows locks, circuits, calls in flight, sweeps and dead letters as they are', async () => {
    const metrics = createMetrics()
    metrics.holds('provider:kie', true)
    metrics.circuit('kie', 'open')
    metrics.inFlight('kie', 'query', 7)
    metrics.swept('silent', 0)
    metrics.deadLettered('kie', 'send')
    expect(await lines(metrics)).toEqual([
      'holdfast_lock_held{name="provider:kie"} 1',
      'holdfast_calls_in_flight{provider="kie",operation="query"} 7',
      'holdfast_circuit{provider="kie"} 2',
      'holdfast_swept_total{sweep="silent"} 0',
      'holdfast_dead_letters_total{provider="kie",kind="send"} 1',
    ])
    metrics.holds('provider:kie', false)
    metrics.circuit('kie', 'half-open')
    metrics.inFlight('kie', 'query', 0)
    const after = await lines(metrics)
    expect(after).toContain('holdfast_lock_held{name="provider:kie"} 0')
    expect(after).toContain('holdfast_circuit{provider="kie"} 1')
    expect(after).toContain('holdfast_calls_in_flight{provider="kie",operation="query"} 0')
  })

  it('shows what became of result files: copied, failed, under way and waiting', async () => {
    const metrics = createMetrics()
    metrics.mirrored('kie', { bytes: 1_000, leftMs: 40_000 })
    metrics.mirrored('kie', { bytes: 500, leftMs: null })
    metrics.mirrorFailed('kie', 'source', 'EXPIRED')
    metrics.mirroring('filesystem', 3, 'open')
    metrics.mirrorQueue({ waiting: 9, due: 4 })
    const shown = await lines(metrics)
    expect(shown).toEqual(
      expect.arrayContaining([
        'holdfast_mirrored_files_total{provider="kie"} 2',
        'holdfast_mirrored_bytes_total{provider="kie"} 1500',
        'holdfast_mirror_margin_seconds_bucket{le="30",provider="kie"} 0',
        'holdfast_mirror_margin_seconds_bucket{le="60",provider="kie"} 1',
        'holdfast_mirror_failures_total{provider="kie",at="source",code="EXPIRED"} 1',
        'holdfast_mirrors_in_flight{store="filesystem"} 3',
        'holdfast_circuit{provider="object-store"} 2',
        'holdfast_mirror_queue{state="waiting"} 9',
        'holdfast_mirror_queue{state="due"} 4',
      ]),
    )
  })

  it('shows what waits, as 0 when it does not any more, and nothing when that is not known', async () => {
    const metrics = createMetrics()
    metrics.workWaiting([{ provider: 'kie', kind: 'send', count: 3, oldestMs: 61_000 }])
    expect(await lines(metrics)).toEqual([
      'holdfast_work_waiting{provider="kie",kind="send"} 3',
      'holdfast_oldest_due_seconds{provider="kie",kind="send"} 61',
    ])
    metrics.workWaiting([{ provider: 'kie', kind: 'poll', count: 1, oldestMs: 500 }])
    expect(await lines(metrics)).toEqual([
      'holdfast_work_waiting{provider="kie",kind="send"} 0',
      'holdfast_work_waiting{provider="kie",kind="poll"} 1',
      'holdfast_oldest_due_seconds{provider="kie",kind="send"} 0',
      'holdfast_oldest_due_seconds{provider="kie",kind="poll"} 0.5',
    ])
    metrics.workWaiting(null)
    expect(await lines(metrics)).toEqual([])
  })

  it('is one set per process: two do not share their counts', async () => {
    const [one, other] = [createMetrics(), createMetrics()]
    one.polled('kie', 'running')
    one.submitted('kie', 'accepted')
    expect(await lines(one)).toHaveLength(2)
    expect(await lines(other)).toEqual([])
  })
})
