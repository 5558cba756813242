import { type Child, h, type VNode } from '../dom/element.ts'
import { CONNECTION_TEXT } from '../models/state-text.ts'
import type { PanelActions, PanelModel } from '../panel-model.ts'
import { VIEWS, type ViewName } from '../remembered.ts'
import { closeIcon, mark } from './icons.ts'
import { messagesView } from './messages-view.ts'
import { outboxView } from './outbox-view.ts'
import { dot } from './pieces.ts'
import { simulate } from './simulate.ts'
import { storageView } from './storage-view.ts'
import { tabsView } from './tabs-view.ts'
import { tasksView } from './tasks-view.ts'
import { thisTab } from './this-tab.ts'

const NAMES: Record<ViewName, string> = {
  tabs: 'Tabs',
  tasks: 'Tasks',
  outbox: 'Outbox',
  storage: 'Storage',
  messages: 'Messages',
}

const CONTENT: Record<ViewName, (model: PanelModel, act: PanelActions) => Child[]> = {
  tabs: tabsView,
  tasks: tasksView,
  outbox: outboxView,
  storage: storageView,
  messages: messagesView,
}

export function launcher(connection: PanelModel['insight']['connection'], onclick: () => void): VNode {
  const { label, tone } = CONNECTION_TEXT[connection]
  return h(
    'button',
    {
      key: 'launcher',
      type: 'button',
      class: 'launcher',
      'aria-expanded': 'false',
      'aria-label': 'Open Holdfast devtools',
      title: `Holdfast: ${label}`,
      onclick,
    },
    mark(26),
    dot(tone),
  )
}

export function panelView(model: PanelModel, act: PanelActions, grip: VNode): VNode {
  const { ui, notice } = model
  return h(
    'section',
    {
      key: 'panel',
      class: 'panel',
      'aria-label': 'Holdfast devtools',
      onkeydown: (event: KeyboardEvent) => {
        if (event.key === 'Escape') act.close()
      },
    },
    grip,
    h(
      'header',
      { class: 'head' },
      h('h2', {}, mark(20), 'Holdfast'),
      h(
        'div',
        {
          role: 'tablist',
          'aria-label': 'Views',
          onkeydown: (event: KeyboardEvent) => moveBetweenTabs(event, ui.view, act),
        },
        VIEWS.map((name) =>
          h(
            'button',
            {
              key: name,
              type: 'button',
              role: 'tab',
              id: `tab-${name}`,
              'aria-selected': String(name === ui.view),
              'aria-controls': 'view',
              tabindex: name === ui.view ? 0 : -1,
              onclick: () => act.set({ view: name }),
            },
            NAMES[name],
            counted(name, model),
          ),
        ),
      ),
      simulate(model, act),
      h(
        'button',
        { type: 'button', class: 'icon', 'aria-label': 'Close Holdfast devtools', onclick: act.close },
        closeIcon(),
      ),
    ),
    h(
      'div',
      { class: 'body' },
      thisTab(model, act),
      h(
        'div',
        {
          key: ui.view,
          id: 'view',
          class: 'view',
          role: 'tabpanel',
          'aria-labelledby': `tab-${ui.view}`,
          tabindex: 0,
        },
        ...CONTENT[ui.view](model, act),
      ),
    ),
    h('p', { class: 'notice', role: 'status' }, notice ?? ''),
  )
}

function counted(name: ViewName, { tabs, insight }: PanelModel): Child {
  const count = {
    tabs: tabs.length,
    tasks: Object.keys(insight.tasks).length,
    outbox: Object.keys(insight.unsent).length,
    storage: 0,
    messages: 0,
  }[name]
  return count > 0 && h('span', { class: 'count' }, count)
}

/** As the ARIA pattern has it: arrows move and choose, Home and End go to the ends. */
function moveBetweenTabs(event: KeyboardEvent, view: ViewName, act: PanelActions) {
  const at = VIEWS.indexOf(view)
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: VIEWS.length - 1 }[event.key]
  const next = to === undefined ? undefined : VIEWS[(to + VIEWS.length) % VIEWS.length]
  if (!next) return
  event.preventDefault()
  const tablist = event.currentTarget as HTMLElement
  act.set({ view: next })
  tablist.querySelector<HTMLElement>(`#tab-${next}`)?.focus()
}
