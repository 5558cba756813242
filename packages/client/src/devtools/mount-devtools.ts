import type { HoldfastClient } from '../create-client.ts'
import { browserEnvironment } from '../environment/environment.ts'
import { listen } from '../environment/listen.ts'
import { render } from './dom/render.ts'
import type { PanelActions, UiState } from './panel-model.ts'
import { createMemory } from './remembered.ts'
import type { Simulation } from './simulation/create-simulation.ts'
import { addStyles } from './styles/add-styles.ts'
import { grip } from './views/grip.ts'
import { launcher, panelView } from './views/panel-view.ts'
import { veil } from './views/veil.ts'
import { watchClient } from './watch-client.ts'
import { watchRecords } from './watch-records.ts'

/** How often the panel looks, while it is open and in front. */
const LOOK_EVERY_MS = 250
/** How many looks to one roll call. */
const LOOKS_PER_CALL = 4
const NOTICE_MS = 6_000

export interface DevtoolsOptions {
  /** @default document.body */
  container?: HTMLElement
  /** Until this tab remembers how it was left. @default false */
  initiallyOpen?: boolean
  /** Where the button is. @default 'bottom-right' */
  position?: 'bottom-right' | 'bottom-left' | 'top-right' | 'top-left'
  /** The one whose environment the client was made with. Without it nothing can be simulated. */
  simulation?: Simulation
}

/**
 * A button in the corner, and behind it a panel that shows what goes on: tabs, who leads and why, tasks, outbox,
 * storage, messages. Returns the undo.
 *
 * @example
 * if (import.meta.env.DEV) {
 *   const { mountDevtools } = await import('@holdfast/client/devtools')
 *   mountDevtools(client)
 * }
 */
export function mountDevtools(client: HoldfastClient, options: DevtoolsOptions = {}): () => void {
  const container = options.container ?? globalThis.document?.body
  const window = container?.ownerDocument.defaultView
  // On a server there is nothing to mount into.
  if (!container || !window) return () => {}
  const { document } = window
  const simulation = options.simulation ?? null
  const memory = createMemory(browserEnvironment().sessionStorage)
  let ui: UiState = {
    ...memory.recall(options.initiallyOpen ?? false),
    taskFilter: '',
    messageFilter: '',
    task: null,
    message: null,
    record: null,
    paused: null,
  }
  let notice: string | null = null
  let forgetNotice: ReturnType<typeof setTimeout> | undefined
  let timer: ReturnType<typeof setInterval> | undefined
  let looks = 0
  let drawing = false
  let mounted = true

  const host = document.createElement('holdfast-devtools')
  host.dataset.position = options.position ?? 'bottom-right'
  const root = host.attachShadow({ mode: 'open' })
  addStyles(root, window)
  const stage = document.createElement('div')
  root.append(stage)
  const find = (selector: string) => root.querySelector<HTMLElement>(selector)

  const records = watchRecords(drawSoon)
  const watch = watchClient({
    client,
    simulation,
    place: () => ({
      visible: simulation?.environment.isVisible() ?? document.visibilityState !== 'hidden',
      path: window.location.pathname + window.location.search + window.location.hash,
    }),
    onChange: drawSoon,
  })

  function draw() {
    if (!mounted) return
    const model = { ...watch.look(), records: records.current(), ui, notice }
    const { connection } = model.insight
    host.style.setProperty('--height', ui.height === null ? 'initial' : `${ui.height}px`)
    render(stage, [
      ...(model.simulation?.crashed ? [veil(act.revive)] : []),
      ui.open
        ? panelView(
            model,
            act,
            grip(window?.innerHeight ?? 0, (height) => act.set({ height })),
          )
        : launcher(connection, open),
    ])
  }

  /** Much may change in one go. */
  function drawSoon() {
    if (drawing) return
    drawing = true
    queueMicrotask(() => {
      drawing = false
      draw()
    })
  }

  function look() {
    if (looks++ % LOOKS_PER_CALL === 0) {
      watch.ask()
      if (ui.view === 'storage') {
        void records.read(watch.scope(), client.store.getState().storage === 'durable')
      }
    }
    draw()
  }

  /** Looks as long as somebody does. */
  function keepLooking() {
    clearInterval(timer)
    timer = undefined
    if (!ui.open || document.visibilityState === 'hidden') return
    looks = 0
    timer = setInterval(look, LOOK_EVERY_MS)
    look()
  }

  function open() {
    act.set({ open: true })
    find('[role=tab][aria-selected=true]')?.focus()
  }

  function say(text: string) {
    notice = text
    clearTimeout(forgetNotice)
    forgetNotice = setTimeout(() => {
      notice = null
      drawSoon()
    }, NOTICE_MS)
    drawSoon()
  }

  const act: PanelActions = {
    set(change) {
      ui = { ...ui, ...change }
      memory.keep(ui)
      if (change.open !== undefined || change.view !== undefined) keepLooking()
      draw()
    },
    close() {
      act.set({ open: false })
      find('.launcher')?.focus()
    },
    attempt(done, work) {
      say('…')
      work(client).then(
        () => say(done),
        (error: Error) => say(error.message),
      )
    },
    copy(value) {
      const copied = window.navigator.clipboard?.writeText(JSON.stringify(value, null, 2))
      // Pages served by plain http have no clipboard.
      if (!copied) return say('There is no clipboard here: select the text instead.')
      copied.then(
        () => say('Copied.'),
        () => say('The browser forbids it: select the text instead.'),
      )
    },
    clearMessages() {
      watch.clearMessages()
      act.set({ message: null, paused: null })
    },
    setHidden: (hidden) => simulation?.setHidden(hidden),
    setOffline: (offline) => simulation?.setOffline(offline),
    crash() {
      simulation?.crash()
      draw()
      // The button it came from works no more.
      find('.veil .button')?.focus()
    },
    revive: () => simulation?.revive(),
  }

  // What is typed here is not for the page's own shortcuts.
  const keep = (event: Event) => event.stopPropagation()
  for (const type of ['keydown', 'keyup', 'keypress']) host.addEventListener(type, keep)
  const unlisten = listen(window, {
    visibilitychange: keepLooking,
    pagehide: watch.rest,
    pageshow: watch.wake,
  })
  container.append(host)
  draw()
  keepLooking()

  return () => {
    if (!mounted) return
    mounted = false
    clearInterval(timer)
    clearTimeout(forgetNotice)
    unlisten()
    watch.stop()
    host.remove()
  }
}
