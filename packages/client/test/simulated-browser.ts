import { IDBFactory } from 'fake-indexeddb'
import type { UseStore } from 'idb-keyval'
import { openIdbStore } from '../src/cache/idb-store.ts'
import type { Clock } from '../src/environment/clock.ts'
import type { ChannelPort } from '../src/tabs/tab-channel.ts'
import { createManualClock } from './manual-clock.ts'
import { MemoryStorage } from './memory-storage.ts'

type Gate = (run: () => void) => void

interface Waiting {
  tab: SimulatedTab
  grant(lock: Lock | null): void
}

/** A tab that can be stopped (nothing runs, everything waits, it keeps what it holds) and killed. */
export interface SimulatedTab {
  id: string
  clock: Clock
  page: EventTarget
  isVisible(): boolean
  locks: Pick<LockManager, 'request'>
  store: UseStore
  openChannel(name: string): ChannelPort
  state: 'running' | 'stopped' | 'dead'
  stop(): void
  resume(): void
  kill(): void
  setVisible(visible: boolean): void
  /** Whether messages of the other tabs arrive here. What it says itself reaches them either way. */
  setDeaf(deaf: boolean): void
}

/** One browser: tabs that share locks, a channel, storage and time, each of which can misbehave by itself. */
export function createSimulatedBrowser() {
  const clock = createManualClock()
  const indexedDB = new IDBFactory()
  const localStorage = new MemoryStorage()
  const ports = new Set<{ port: ChannelPort; gate: Gate; name: string; hears(): boolean }>()
  let holder: { tab: SimulatedTab; rob(): void } | null = null
  let queue: Waiting[] = []
  let tabs = 0

  function grantNext() {
    if (holder) return
    const next = queue.shift()
    if (next) next.grant({ name: 'lock', mode: 'exclusive' })
  }

  function openTab(visible = true): SimulatedTab {
    let late: (() => void)[] = []
    let deaf = false
    const gate: Gate = (run) => {
      if (tab.state === 'running') run()
      else if (tab.state === 'stopped') late.push(run)
    }
    const request = (_: string, options: LockOptions, use: (lock: Lock | null) => unknown) =>
      new Promise<unknown>((resolve, reject) => {
        const settle = (outcome: () => void) => gate(outcome)
        const abort = (message: string) => settle(() => reject(new DOMException(message, 'AbortError')))
        const waiting: Waiting = {
          tab,
          grant(lock) {
            if (!lock) return gate(() => Promise.resolve(use(null)).then(resolve, reject))
            const held = { tab, rob: () => abort('stolen') }
            holder = held
            gate(() => {
              Promise.resolve(use(lock)).then(
                (value) => {
                  if (holder === held) holder = null
                  resolve(value)
                  grantNext()
                },
                (error) => {
                  if (holder === held) holder = null
                  reject(error)
                  grantNext()
                },
              )
            })
          },
        }
        if (options.steal) {
          const robbed = holder
          holder = null
          robbed?.rob()
          waiting.grant({ name: 'lock', mode: 'exclusive' })
        } else if (!holder) waiting.grant({ name: 'lock', mode: 'exclusive' })
        else if (options.ifAvailable) waiting.grant(null)
        else {
          queue.push(waiting)
          options.signal?.addEventListener('abort', () => {
            // Once granted, a signal means nothing any more.
            if (!queue.includes(waiting)) return
            queue = queue.filter((other) => other !== waiting)
            abort('told to stop')
          })
        }
      })
    const real = openIdbStore(indexedDB, 'simulated', { now: clock.now, after: () => () => {} })
    const tab: SimulatedTab = {
      id: `tab-${++tabs}`,
      state: 'running',
      page: new EventTarget(),
      isVisible: () => visible,
      clock: { now: clock.now, after: (ms, run) => clock.after(ms, () => gate(run)) },
      locks: { request } as unknown as Pick<LockManager, 'request'>,
      store: (mode, use) =>
        new Promise((resolve, reject) => {
          real(mode, use).then(
            (value) => gate(() => resolve(value)),
            (error) => gate(() => reject(error)),
          )
        }),
      openChannel(name) {
        const entry = {
          name,
          gate,
          hears: () => !deaf,
          port: {
            onmessage: null,
            postMessage(data) {
              if (tab.state === 'dead') return
              const copy = structuredClone(data)
              for (const other of ports) {
                if (other === entry || other.name !== name || !other.hears()) continue
                setImmediate(() => other.gate(() => other.port.onmessage?.({ data: copy } as MessageEvent)))
              }
            },
            close: () => ports.delete(entry),
          } as ChannelPort,
        }
        ports.add(entry)
        return entry.port
      },
      stop() {
        if (tab.state === 'running') tab.state = 'stopped'
      },
      resume() {
        if (tab.state !== 'stopped') return
        tab.state = 'running'
        const missed = late
        late = []
        for (const run of missed) gate(run)
      },
      kill() {
        tab.state = 'dead'
        late = []
        for (const entry of ports) if (entry.gate === gate) ports.delete(entry)
        queue = queue.filter((waiting) => waiting.tab !== tab)
        if (holder?.tab === tab) holder = null
        grantNext()
      },
      setVisible(next) {
        visible = next
        gate(() => tab.page.dispatchEvent(new Event('visibilitychange')))
      },
      setDeaf(next) {
        deaf = next
      },
    }
    return tab
  }

  return { clock, indexedDB, localStorage, openTab }
}

/** Lets everything that needs no time happen: channels, locks, the database. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 40; turn++) await new Promise((resolve) => setImmediate(resolve))
}
