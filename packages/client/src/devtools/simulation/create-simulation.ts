import { browserEnvironment, type Environment } from '../../environment/environment.ts'
import { createSimulatedChannels } from './simulated-channel.ts'
import { createSimulatedLocks } from './simulated-locks.ts'
import { createSimulatedNetwork } from './simulated-network.ts'
import { createSimulatedPage } from './simulated-page.ts'
import { createSimulatedDatabases, createSimulatedStorage } from './simulated-storage.ts'

export interface SimulationState {
  readonly hidden: boolean
  readonly offline: boolean
  readonly crashed: boolean
}

export interface Simulation {
  /** For `createClient({ environment })`. */
  readonly environment: Environment
  getState(): SimulationState
  /** Returns the undo. */
  subscribe(listener: () => void): () => void
  /** As if another tab was in front. */
  setHidden(hidden: boolean): void
  /** As if the cable was pulled: running streams break, nothing new gets through. Back again, `online` is told. */
  setOffline(offline: boolean): void
  /**
   * This client stops dead: no goodbye, no timer, no message, no request, no write. Its Web Lock is freed, as the
   * browser does for a crashed tab.
   */
  crash(): void
  /** Nothing brings a dead tab back but loading its page again. */
  revive(): void
}

/**
 * The browser, with switches. One per client: a page that simulates is a page in trouble as far as its client can
 * tell, while the rest of the page goes on.
 *
 * @param base Parts of the browser to use instead of the real ones. `fetch` belongs here, not in `createClient`.
 * @example
 * const simulation = createSimulation()
 * const client = createClient({ environment: simulation.environment })
 * mountDevtools(client, { simulation })
 */
export function createSimulation(base: Partial<Environment> = {}): Simulation {
  const real = { ...browserEnvironment(), ...base }
  const death = new AbortController()
  const { signal } = death
  const listeners = new Set<() => void>()
  let state: SimulationState = { hidden: false, offline: false, crashed: false }

  const network = createSimulatedNetwork(real.fetch, signal)
  const page = createSimulatedPage(
    real.page,
    ({ type }) => !state.crashed && !(state.offline && type === 'online'),
  )

  function change(to: Partial<SimulationState>): boolean {
    const next = { ...state, ...to }
    const isNew = (Object.keys(next) as (keyof SimulationState)[]).some((key) => next[key] !== state[key])
    // The dead do not change.
    if (!isNew || state.crashed) return false
    state = next
    return true
  }

  function tell() {
    for (const listener of listeners) listener()
  }

  return {
    environment: {
      ...real,
      fetch: network.fetch,
      page,
      clock: {
        now: () => real.clock.now(),
        after: (ms, run) =>
          real.clock.after(ms, () => {
            if (!signal.aborted) run()
          }),
      },
      locks: real.locks && createSimulatedLocks(real.locks, signal),
      openChannel: real.openChannel && createSimulatedChannels(real.openChannel, signal),
      indexedDB: real.indexedDB && createSimulatedDatabases(real.indexedDB, signal),
      sessionStorage: real.sessionStorage && createSimulatedStorage(real.sessionStorage, signal),
      localStorage: real.localStorage && createSimulatedStorage(real.localStorage, signal),
      isVisible: () => !state.hidden && real.isVisible(),
    },
    getState: () => state,
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    setHidden(hidden) {
      if (!change({ hidden })) return
      page.dispatchEvent(new Event('visibilitychange'))
      tell()
    },
    setOffline(offline) {
      if (!change({ offline })) return
      network.setOffline(offline)
      page.dispatchEvent(new Event(offline ? 'offline' : 'online'))
      tell()
    },
    crash() {
      if (!change({ crashed: true })) return
      death.abort()
      tell()
    },
    revive: () => globalThis.location?.reload(),
  }
}
