import type { Leases } from './lease.ts'
import type { Hold, Level } from './level.ts'

/**
 * Where there are no Web Locks: a record that is read and written in one transaction, so that two tabs never both
 * find it free. A date alone never frees it, since a throttled leader's looks expired half the time: `steal` does,
 * after the leader did not answer.
 */
export function createIndexedDbLevel(leases: Leases): Level {
  async function take(may: Parameters<Leases['take']>[0]): Promise<Hold | null> {
    const epoch = await leases.take(may)
    if (!epoch) return null
    return {
      epoch,
      // Nobody tells: the next renewal does, or a message of the new leader's.
      lost: new Promise(() => {}),
      renew: () => leases.renew(epoch),
      // A release that fails is a lease that runs out.
      release: () => void leases.release(epoch).catch(() => {}),
    }
  }

  return {
    name: 'indexeddb',
    exclusive: true,
    freesItself: false,
    tryTake: () => take((held) => !held?.owner),
    // Nothing calls here when it is free: the leader says so on the channel, and else the lease runs out.
    waitFor: (signal) => new Promise((resolve) => signal.addEventListener('abort', () => resolve(null))),
    steal: (epoch) => take((held) => !held?.owner || held.epoch <= epoch),
  }
}
