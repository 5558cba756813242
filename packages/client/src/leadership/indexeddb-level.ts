import { type Clock, sleep } from '../environment/clock.ts'
import type { Leases } from './lease.ts'
import type { Hold, Level } from './level.ts'

/** Whoever lets go says so on the channel; this is for those who could not. */
const LOOK_EVERY_MS = 3_000

/**
 * Where there are no Web Locks: a record that is read and written in one transaction, so that two tabs never both
 * find it free. A date alone never frees it, since a throttled leader's looks expired half the time: `steal` does,
 * after the leader did not answer.
 */
export function createIndexedDbLevel(leases: Leases, clock: Clock): Level {
  async function take(may: Parameters<Leases['take']>[0]): Promise<Hold | null> {
    const epoch = await leases.take(may)
    if (epoch === null) return null
    let lose = () => {}
    const lost = new Promise<void>((resolve) => {
      lose = resolve
    })
    return {
      epoch,
      lost,
      async renew() {
        const ours = await leases.renew(epoch)
        if (!ours) lose()
        return ours
      },
      // A release that fails is a lease that runs out.
      release: () => void leases.release(epoch).catch(() => {}),
    }
  }
  const tryTake = () => take((held) => !held?.owner)

  return {
    name: 'indexeddb',
    exclusive: true,
    freesItself: false,
    tryTake,
    async waitFor(signal) {
      for (;;) {
        await sleep(clock, LOOK_EVERY_MS, signal)
        if (signal.aborted) return null
        const hold = await tryTake()
        if (hold) return hold
      }
    },
    steal: (epoch) => take((held) => !held?.owner || held.epoch <= epoch),
  }
}
