import type { ChannelPort } from '../tabs/tab-channel.ts'
import { type Clock, systemClock } from './clock.ts'

/** What of the browser the client touches. Every part may be missing or blocked; nothing breaks, `storage` and `connection` say so. */
export interface Environment {
  clock: Clock
  /** 0 ≤ n < 1 */
  random(): number
  /** Decides which tab leads. Null: every tab leads for itself. */
  locks: Pick<LockManager, 'request'> | null
  /** Reaches the other tabs. Null: every tab leads for itself. */
  openChannel: ((name: string) => ChannelPort) | null
  /** Keeps the local copy. Null: memory only. */
  indexedDB: IDBFactory | null
  /** Lives as long as the tab, reloads included. */
  sessionStorage: Pick<Storage, 'getItem' | 'setItem' | 'removeItem'> | null
  localStorage: Pick<Storage, 'getItem' | 'setItem'> | null
  /** Where `online`, `visibilitychange`, `pagehide` and `pageshow` arrive: the window. */
  page: EventTarget | null
  isVisible(): boolean
}

/** With site data blocked, merely reading `window.localStorage` or `indexedDB` throws. */
function orNull<T>(read: () => T | undefined): T | null {
  try {
    return read() ?? null
  } catch {
    // Blocked counts as missing: the client works without it.
    return null
  }
}

/** Called at sign-in, never on import: servers import this package too. */
export function browserEnvironment(): Environment {
  const Channel = orNull(() => globalThis.BroadcastChannel)
  return {
    clock: systemClock,
    random: Math.random,
    locks: orNull(() => globalThis.navigator?.locks),
    openChannel: Channel && ((name) => new Channel(name)),
    indexedDB: orNull(() => globalThis.indexedDB),
    sessionStorage: orNull(() => globalThis.sessionStorage),
    localStorage: orNull(() => globalThis.localStorage),
    page: orNull(() => globalThis.window),
    isVisible: () => globalThis.document?.visibilityState !== 'hidden',
  }
}
