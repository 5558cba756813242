/** Runs in the browser: one tab of the tabs proof. What the proof asks of it hangs on `window.lab`. */
import { createClient } from '@holdfast/client'
import { type RoundsOptions, type RoundsReport, runRoundsHere } from './rounds-in-page.ts'
import { readState, type TabState } from './tab-state.ts'

export interface LabPage {
  state(): TabState
  submit(prompt: string): Promise<{ key: string; storage: string }>
  /** A page driven by a debugger always counts as visible: this is what a hidden one looks like from the inside. */
  setHidden(hidden: boolean): void
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

const client = createClient({ app: given?.app ?? 'none' })
const ticks: number[] = []
let hidden: boolean | null = null

window.lab = {
  ticks,
  state: () => readState(client),
  async submit(prompt) {
    const { key, storage } = await client.submit({ type: 'image', params: { prompt } })
    return { key, storage }
  },
  setHidden(next) {
    if (hidden === null) {
      Object.defineProperty(document, 'visibilityState', { get: () => (hidden ? 'hidden' : 'visible') })
    }
    hidden = next
    document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))
  },
  rounds: runRoundsHere,
}

function tick() {
  setTimeout(() => {
    ticks.push(Math.round(performance.timeOrigin + performance.now()))
    tick()
  }, 5_000)
}

if (given) {
  client.store.subscribe(({ tasks, unsent }) => {
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
  void client.setUser({ id: given.id, getToken: () => given.token })
}
