import type { Leases } from './lease.ts'
import type { Hold, Level } from './level.ts'

/** The browser frees the lock when its tab closes or crashes, and gives it to the tab that has waited longest. */
export function createWebLockLevel(locks: Pick<LockManager, 'request'>, name: string, leases: Leases): Level {
  function request(options: LockOptions): Promise<Hold | null> {
    return new Promise((resolve, reject) => {
      let lose = () => {}
      const lost = new Promise<void>((done) => {
        lose = done
      })
      locks
        .request(name, options, async (lock) => {
          if (!lock) return resolve(null)
          const released = new Promise<void>((release) => {
            // Only a holder raises the epoch; between stealing and this write the old leader may still be known by its own.
            leases.raise().then((epoch) => resolve({ epoch, lost, renew: async () => true, release }), reject)
          })
          return released
        })
        .catch((error) => {
          lose()
          // Told to stop; or somebody stole it, perhaps as soon as it was granted.
          if (error.name === 'AbortError') resolve(null)
          else reject(error)
        })
    })
  }

  return {
    name: 'web-lock',
    exclusive: true,
    freesItself: true,
    tryTake: () => request({ ifAvailable: true }),
    waitFor: (signal) => request({ signal }),
    steal: async (epoch) => (leases.highest() > epoch ? null : request({ steal: true })),
  }
}
