/** Runs in the browser: one tab of the tabs proof. What the proof asks of it hangs on `window.lab`. */
import { createClient } from '@holdfast/client'
import { beDeaf, setClockOff, setFull } from './faults-in-page.ts'
import { type RoundsOptions, type RoundsReport, runRoundsHere } from './rounds-in-page.ts'
import { readState, type TabState } from './tab-state.ts'

export interface LabPage {
  state(): TabState
  /** How often the connection's status has changed. */
  connectionChanges: number
  submit(prompt: string, key?: string): Promise<{ key: string; storage: 'durable' | 'memory' }>
  discard(key: string): Promise<void>
  logOut(): Promise<void>
  /** As the user of this page, unless signed in already. */
  signIn(): Promise<void>
  /** A page driven by a debugger always counts as visible: this is what a hidden one looks like from the inside. */
  setHidden(hidden: boolean): void
  setFull(isFull: boolean): void
  setClockOff(ms: number): void
  rounds(options: RoundsOptions): Promise<RoundsReport>
  /** When a timer of so many milliseconds, started anew each time, went off. */
  ticks: number[]
}

declare global {
  interface Window {
    lab: LabPage
  }
}

/** The user is in the fragment, so that a reload is the same user and signing in needs no network. */
const given = JSON.parse(decodeURIComponent(location.hash.slice(1)) || 'null') as {
  app: string
  id: string
  token: string
} | null

if (new URLSearchParams(location.search).has('deaf')) beDeaf()

const client = createClient({ app: given?.app ?? 'none' })
const ticks: number[] = []
let hidden: boolean | null = null

async function signIn() {
  if (!given || client.store.getState().userId !== null) return
  await client.setUser({ id: given.id, getToken: () => given.token })
}

window.lab = {
  ticks,
  connectionChanges: 0,
  state: () => readState(client),
  async submit(prompt, idempotencyKey) {
    const { key, storage } = await client.submit({ type: 'image', params: { prompt }, idempotencyKey })
    return { key, storage }
  },
  discard: (key) => client.discard(key),
  logOut: () => client.logout(),
  signIn,
  setHidden(next) {
    if (hidden === null) {
      Object.defineProperty(document, 'visibilityState', { get: () => (hidden ? 'hidden' : 'visible') })
    }
    hidden = next
    document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))
  },
  setFull,
  setClockOff,
  rounds: runRoundsHere,
}

function tick() {
  setTimeout(() => {
    ticks.push(Math.round(performance.timeOrigin + performance.now()))
    tick()
  }, 5_000)
}

if (given) {
  client.store.subscribe(({ tasks, unsent, connection }, before) => {
    if (connection !== before.connection) window.lab.connectionChanges++
    const lines = [...Object.values(unsent), ...Object.values(tasks)]
    document.body.replaceChildren(
      ...lines.map(({ id, status, params }) => {
        const line = document.createElement('p')
        line.dataset.id = id
        line.textContent = `${params.prompt}: ${status}`
        return line
      }),
    )
  })
  tick()
  void signIn()
}
