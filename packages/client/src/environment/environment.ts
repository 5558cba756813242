import type { OpenChannel } from '../tabs/tab-channel.ts'
import { type Clock, systemClock } from './clock.ts'

/** What of the browser the client touches. Every part may be missing or blocked; nothing breaks, `storage` and `connection` say so. */
export interface Environment {
  clock: Clock
  fetch: typeof fetch
  /** 0 ≤ n < 1 */
  random(): number
  /** Decides which tab leads. Null: IndexedDB does, and without that every tab leads for itself. */
  locks: Pick<LockManager, 'request'> | null
  /** Reaches the other tabs. Null: every tab leads for itself. */
  openChannel: OpenChannel | null
  /** Keeps the local copy. Null: memory only. */
  indexedDB: IDBFactory | null
  /** Lives as long as the tab, reloads included. */
  sessionStorage: Pick<Storage, 'getItem' | 'setItem' | 'removeItem'> | null
  /** Shows who leads, who has signed out, names this browser and remembers which tasks it made. */
  localStorage:
    | (Pick<Storage, 'getItem' | 'setItem' | 'removeItem'> & Partial<Pick<Storage, 'key' | 'length'>>)
    | null
  /** Asks the browser not to clear what is kept here when it needs room. Null: it cannot be asked. */
  persist: (() => Promise<boolean>) | null
  /**
   * Where `online`, `visibilitychange`, `pagehide`, `pageshow`, `freeze` and `resume` arrive: the window.
   */
  page: EventTarget | null
  isVisible(): boolean
  /** Runs, maybe twice, when the next frame is on its way to the screen. A tab that is hidden meanwhile has none: soon. */
  afterFrame(run: () => void): void
}

const FRAME_WITHIN_MS = 1_000

/** Null when it is missing. With site data blocked, merely reading `localStorage` or `indexedDB` throws: the same. */
function read<K extends keyof typeof globalThis>(name: K): (typeof globalThis)[K] | null {
  try {
    return globalThis[name] ?? null
  } catch {
    return null
  }
}

/** Called at sign-in, never on import: servers import this package too. */
export function browserEnvironment(): Environment {
  const Channel = read('BroadcastChannel')
  const localStorage = read('localStorage')
  const page: EventTarget | null = read('window')
  return {
    clock: systemClock,
    fetch: (input, init) => globalThis.fetch(input, init),
    random: Math.random,
    locks: read('navigator')?.locks ?? null,
    openChannel: Channel
      ? (name) => new Channel(name)
      : localStorage &&
        page &&
        (async (name) => (await import('../tabs/storage-channel.ts')).openStorageChannel(name, localStorage)),
    indexedDB: read('indexedDB'),
    sessionStorage: read('sessionStorage'),
    localStorage,
    persist: read('navigator')?.storage?.persist ? () => navigator.storage.persist() : null,
    page,
    isVisible: () => read('document')?.visibilityState !== 'hidden',
    afterFrame(run) {
      read('requestAnimationFrame')?.(() => setTimeout(run))
      setTimeout(run, FRAME_WITHIN_MS)
    },
  }
}
