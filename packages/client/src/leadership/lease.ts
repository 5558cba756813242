import { type UseStore, update } from 'idb-keyval'
import type { Clock } from '../environment/clock.ts'

/** C2. */
export const LEASE_MS = 30_000
export const RENEW_MS = 15_000

/** Who leads, until when, and the how-manieth leader it is. An empty owner has let go. */
export interface Lease {
  owner: string
  epoch: number
  expiresAt: number
}

export interface Leases {
  /** For everyone to see, from localStorage. It tells who leads; it never decides it. Null: none, or unreadable. */
  seen(): Lease | null
  show(epoch: number): void
  /** Takes our own name off. */
  hide(): void
  /** The record that decides, in IndexedDB: read and written in one transaction. Null when `may` says no. */
  take(may: (held: Lease | undefined) => boolean): Promise<number | null>
  renew(epoch: number): Promise<boolean>
  release(epoch: number): Promise<void>
  /** The next epoch where a Web Lock decides: from IndexedDB, or one above all we know of when that fails. */
  raise(): Promise<number>
}

export interface LeasesOptions {
  storage: Pick<Storage, 'getItem' | 'setItem' | 'removeItem'> | null
  store: UseStore | null
  name: string
  tabId: string
  clock: Clock
}

export function createLeases({ storage, store, name, tabId, clock }: LeasesOptions): Leases {
  const key = `${name}:lease`
  /** Remembered, for where nothing can be stored. */
  let highest = 0

  const next = (epoch: number): Lease => ({ owner: tabId, epoch, expiresAt: clock.now() + LEASE_MS })

  function seen(): Lease | null {
    try {
      const lease: Partial<Lease> | null = JSON.parse(storage?.getItem(key) ?? 'null')
      if (typeof lease?.epoch !== 'number' || typeof lease.expiresAt !== 'number') return null
      highest = Math.max(highest, lease.epoch)
      return lease as Lease
    } catch {
      // Blocked or garbled: the same as none.
      return null
    }
  }

  function write(lease: Lease) {
    try {
      storage?.setItem(key, JSON.stringify(lease))
    } catch {
      // Full or blocked: the others then ask on the channel who leads.
    }
  }

  /** Changes the record if it is as expected; tells the epoch it then has, or null. */
  async function change(to: (held: Lease | undefined) => Lease | null): Promise<number | null> {
    if (!store) throw new Error('IndexedDB is not to be had here.')
    let epoch: number | null = null
    await update<Lease | undefined>(
      key,
      (held) => {
        const changed = to(held)
        epoch = changed?.epoch ?? null
        return changed ?? held
      },
      store,
    )
    return epoch
  }

  const after = (held: Lease | undefined) => {
    seen()
    highest = Math.max(highest, held?.epoch ?? 0) + 1
    return next(highest)
  }
  const isOurs = (held: Lease | undefined, epoch: number) => held?.owner === tabId && held.epoch === epoch

  return {
    seen,
    show: (epoch) => {
      highest = Math.max(highest, epoch)
      write(next(epoch))
    },
    hide() {
      const lease = seen()
      if (lease?.owner === tabId) write({ ...lease, owner: '', expiresAt: 0 })
    },
    take: (may) => change((held) => (may(held) ? after(held) : null)),
    renew: async (epoch) => (await change((held) => (isOurs(held, epoch) ? next(epoch) : null))) !== null,
    release: async (epoch) => {
      await change((held) => (isOurs(held, epoch) ? { owner: '', epoch, expiresAt: 0 } : null))
    },
    raise: async () => {
      const raised = await change(after).catch(() => null)
      return raised ?? after(undefined).epoch
    },
  }
}
