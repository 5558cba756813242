import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { keepLease, type Lease, type LeaseOptions } from './keep-lease.ts'

describe('a lease of 3 s', () => {
  const leases: Lease[] = []
  let clock = 0
  beforeEach(() => {
    clock = 0
  })
  afterEach(() => {
    for (const lease of leases.splice(0)) lease.stop()
  })

  function keep(options: Partial<LeaseOptions> = {}) {
    const onLost = vi.fn<(reason: Error) => void>()
    const lease = keepLease({
      ttlMs: 3_000,
      retryMs: 20,
      grantedAt: 0,
      renew: async () => true,
      onLost,
      now: () => clock,
      ...options,
    })
    leases.push(lease)
    return { lease, onLost }
  }

  it('is seen as lost by whoever looks after a pause, before any timer has run', () => {
    const { lease, onLost } = keep()
    clock = 2_699
    expect(lease.lost.aborted).toBe(false)
    clock = 2_700
    expect(lease.lost.aborted).toBe(true)
    expect(onLost).toHaveBeenCalledOnce()
  })

  it('counts from when the request was sent, not from its answer', () => {
    clock = 2_800
    expect(keep({ grantedAt: 0 }).lease.lost.aborted).toBe(true)
    expect(keep({ grantedAt: 2_000 }).lease.lost.aborted).toBe(false)
  })

  it('is not brought back by an answer that arrives after a pause', async () => {
    const answer = Promise.withResolvers<boolean>()
    const asked = Promise.withResolvers<void>()
    const { onLost } = keep({
      ttlMs: 60,
      now: () => clock,
      renew() {
        asked.resolve()
        return answer.promise
      },
    })
    clock = 20
    await asked.promise
    clock = 5_000
    answer.resolve(true)
    await vi.waitFor(() => expect(onLost).toHaveBeenCalledOnce())
  })

  it('is never lost once it is stopped', () => {
    const { lease, onLost } = keep()
    lease.stop()
    clock = 60_000
    lease.lose(new Error('too late'))
    expect(lease.lost.aborted).toBe(false)
    expect(onLost).not.toHaveBeenCalled()
  })

  it('is lost at once when the answer is no', async () => {
    const { lease, onLost } = keep({ ttlMs: 90, renew: async () => false })
    await vi.waitFor(() => expect(onLost).toHaveBeenCalledOnce())
    expect(lease.lost.reason.message).toContain('no longer ours')
  })

  it('asks again and again when there is no answer, until its time is over', async () => {
    const renew = vi.fn().mockRejectedValue(new Error('away'))
    const grantedAt = performance.now()
    const { onLost } = keep({ ttlMs: 600, renew, grantedAt, now: () => performance.now() })
    await vi.waitFor(() => expect(onLost).toHaveBeenCalledOnce(), { timeout: 2_000 })
    expect(renew.mock.calls.length).toBeGreaterThan(3)
  })
})
