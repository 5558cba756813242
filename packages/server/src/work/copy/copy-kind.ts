import { gather } from '../../concurrency/gather.ts'
import { createSlots, type Slots } from '../../engine/slots.ts'
import type { WorkKind } from '../../engine/work-kind.ts'
import { type ClaimedCopy, claimCopies } from './claim-copies.ts'
import type { CopyContext } from './copy-context.ts'
import { handBackCopies, renewCopies } from './copy-writes.ts'
import { runCopy } from './run-copy.ts'

/**
 * As many files wait, claimed, for a place as were moved in this time: so small ones keep all places busy, and large
 * ones are left to other replicas.
 */
const AHEAD_MS = 500
const MOST_AHEAD = 128
/** Files that are copied and not yet written down: beyond this the database is the one to wait for. */
const MOST_HELD = 500

/**
 * Copying result files to the store. Every replica does so, without a lock: another one takes over when the claims of a
 * process that died run out.
 */
export function createCopyKind(context: CopyContext): WorkKind<ClaimedCopy> {
  const { sql, objects, options, breaker, metrics } = context
  /** When places were freed lately. */
  const movedAt: number[] = []
  let moving = 0
  /** Claimed, and their bytes have not moved yet. */
  let unmoved = 0

  function ahead(): number {
    const since = performance.now() - AHEAD_MS
    return movedAt.filter((at) => at > since).length
  }

  function noteMoved(): void {
    movedAt.push(performance.now())
    if (movedAt.length > MOST_AHEAD) movedAt.shift()
  }

  const slots: Slots = createSlots({
    breaker,
    atOnce: options.concurrency,
    capacity: () => Math.min(MOST_HELD, options.concurrency + ahead() + slots.underWay - unmoved),
    // Half of those ahead may have begun before more are claimed: fewer, larger claims.
    fewest: () => ahead() / 2,
  })

  const handBackOne = gather<ClaimedCopy, void>({
    together: async (works) => {
      await handBackCopies(sql, works)
      return works.map(() => undefined)
    },
    alone: (work) => handBackCopies(sql, [work]),
  })

  return {
    name: 'copy',
    of: objects.name,
    slots,
    leaseMs: options.leaseMs,
    freesEarly: true,
    renew: { everyMs: options.leaseMs / 3, renew: (works) => renewCopies(sql, works, options.leaseMs) },
    observe: () => metrics.mirroring(objects.name, moving, breaker.state),
    async claim({ count }) {
      const works = await claimCopies(sql, { limit: count, leaseMs: options.leaseMs })
      for (const [provider, steps] of Map.groupBy(works, (work) => work.provider)) {
        metrics.claimed(provider, 'copy', steps)
      }
      unmoved += works.length
      return { works, retryMs: null }
    },
    async run(work, claim) {
      let isMoving = true
      moving += 1
      const moved = () => {
        if (!isMoving) return
        isMoving = false
        moving -= 1
        unmoved -= 1
        noteMoved()
        claim.free()
      }
      try {
        // Each would be a file that was fetched for nothing.
        if (breaker.state === 'open') await handBackOne(work)
        else await runCopy({ context, work, claimedAt: claim.claimedAt, signal: claim.signal, moved })
      } finally {
        moved()
      }
    },
    async handBack(works) {
      unmoved -= works.length
      await handBackCopies(sql, works)
    },
  }
}
