import type { UseStore } from 'idb-keyval'
import { changeRecord } from '../cache/idb-store.ts'
import type { Clock } from '../environment/clock.ts'
import { type Items, readJson } from '../environment/items.ts'

/** How long a lease is shown as valid, unless it is renewed. */
export const LEASE_MS = 30_000
/** So that one renewal may be late. */
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
  /** The highest epoch anyone here has heard of, counting this one. */
  highest(epoch?: number): number
  /** The record that decides, in IndexedDB: read and written in one transaction. Null when `may` says no. */
  take(may: (held: Lease | undefined) => boolean): Promise<number | null>
  renew(epoch: number): Promise<boolean>
  release(epoch: number): Promise<unknown>
  /** The next epoch where a Web Lock decides: from IndexedDB, or one above all we know of when that fails. */
  raise(): Promise<number>
}

export interface LeasesOptions {
  items: Items
  store: UseStore | null
  name: string
  tabId: string
  clock: Clock
}

export function createLeases({ items, store, name, tabId, clock }: LeasesOptions): Leases {
  const key = `${name}:lease`
  /** Remembered, for where nothing can be stored. */
  let known = 0

  const next = (epoch: number): Lease => ({ owner: tabId, epoch, expiresAt: clock.now() + LEASE_MS })
  const free = (epoch: number): Lease => ({ owner: '', epoch, expiresAt: 0 })
  const write = (lease: Lease) => items.set(key, JSON.stringify(lease))

  function seen(): Lease | null {
    const lease = readJson(items, key) as Lease | null
    if (!Number.isSafeInteger(lease?.epoch) || typeof lease?.expiresAt !== 'number') return null
    known = Math.max(known, lease.epoch)
    return lease
  }

  function highest(epoch = 0): number {
    seen()
    known = Math.max(known, epoch)
    return known
  }

  /** Changes the record if it is as expected; tells the epoch it then has, or null. */
  async function change(to: (held: Lease | undefined) => Lease | null): Promise<number | null> {
    let after: Lease | null = null
    if (!store) throw new Error()
    await changeRecord(store, key, (held) => {
      after = to(held as Lease | undefined)
      return after ?? held
    })
    return (after as Lease | null)?.epoch ?? null
  }

  const raised = (held?: Lease) => next(highest(held?.epoch) + 1)
  const ifOurs = (epoch: number, then: (epoch: number) => Lease) =>
    change((held) => (held?.owner === tabId && held.epoch === epoch ? then(epoch) : null))

  return {
    seen,
    highest,
    show: (epoch) => {
      highest(epoch)
      write(next(epoch))
    },
    hide() {
      const lease = seen()
      if (lease?.owner === tabId) write(free(lease.epoch))
    },
    take: (may) => change((held) => (may(held) ? raised(held) : null)),
    renew: async (epoch) => (await ifOurs(epoch, next)) !== null,
    release: (epoch) => ifOurs(epoch, free),
    raise: async () => (await change(raised).catch(() => null)) ?? raised().epoch,
  }
}
