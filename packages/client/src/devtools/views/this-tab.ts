import { LEASE_MS } from '../../leadership/lease.ts'
import { type Child, h, type VNode } from '../dom/element.ts'
import { CONNECTION_TEXT } from '../models/state-text.ts'
import { durationText } from '../models/time-text.ts'
import { LEVEL_TEXT, whyRole } from '../models/why-role.ts'
import type { PanelActions, PanelModel } from '../panel-model.ts'
import { crashIcon, hiddenIcon, offlineIcon } from './icons.ts'
import { badge, button, code, dot } from './pieces.ts'

/** How this tab stands, always in sight, and what can be done to it. */
export function thisTab(model: PanelModel, act: PanelActions): VNode {
  const { insight, me, simulation } = model
  const { session } = insight
  const connection = CONNECTION_TEXT[insight.connection]
  return h(
    'aside',
    { class: 'this-tab', 'aria-label': 'This tab' },
    h(
      'div',
      { class: 'role', 'data-role': simulation?.crashed ? 'crashed' : me.role },
      h(
        'p',
        { class: 'role-name' },
        simulation?.crashed
          ? 'Crashed'
          : session
            ? me.role === 'leader'
              ? 'Leads'
              : 'Follows'
            : 'Signed out',
        code(insight.tabId),
      ),
      h(
        'p',
        {},
        simulation?.crashed
          ? 'It stands still, as after a crash: no goodbye, no timer, no request. Its lock is free.'
          : whyRole(me, session?.lease?.owner),
      ),
      simulation?.crashed && button('Reload to revive', act.revive),
    ),
    h(
      'dl',
      { class: 'facts' },
      fact('Connection', dot(connection.tone), connection.label, h('small', {}, connection.about)),
      session && fact('Chosen by', LEVEL_TEXT[session.level]),
      session && fact('Epoch', session.epoch),
      session && fact('Lease', lease(model)),
      fact('Storage', insight.storage, insight.storageProblem && badge('bad', insight.storageProblem)),
      fact('User', insight.userId ?? 'nobody'),
    ),
    simulate(model, act),
  )
}

const fact = (name: string, ...value: Child[]): VNode =>
  h('div', { key: name }, h('dt', {}, name), h('dd', {}, ...value))

function lease({ insight, now }: PanelModel): Child {
  const held = insight.session?.lease
  if (!held?.owner) return 'nobody has it'
  const left = Math.max(0, held.expiresAt - now)
  return [
    held.owner === insight.tabId ? 'this tab' : code(held.owner),
    h('progress', { max: LEASE_MS, value: left, 'aria-label': 'Time left of the lease' }),
    h(
      'small',
      {},
      left > 0 ? `runs out in ${durationText(left)} unless renewed` : 'has run out; the owner is asked',
    ),
  ]
}

function simulate({ simulation }: PanelModel, act: PanelActions): VNode {
  const off = simulation === null || simulation.crashed
  const toggle = (label: string, icon: VNode, pressed: boolean, onclick: () => void, about: string) =>
    h(
      'button',
      {
        type: 'button',
        class: 'switch',
        'aria-pressed': String(pressed),
        'aria-describedby': 'simulation-note',
        title: about,
        disabled: off,
        onclick,
      },
      icon,
      label,
    )
  return h(
    'div',
    { class: 'simulate', role: 'group', 'aria-label': 'Simulate' },
    h('h3', {}, 'Simulate'),
    h(
      'div',
      { class: 'switches' },
      toggle(
        'Hidden',
        hiddenIcon(),
        simulation?.hidden ?? false,
        () => act.setHidden(!simulation?.hidden),
        'As if another tab was in front: after five seconds a visible tab leads.',
      ),
      toggle(
        'Offline',
        offlineIcon(),
        simulation?.offline ?? false,
        () => act.setOffline(!simulation?.offline),
        'As if the cable was pulled: streams break, submits wait.',
      ),
      toggle(
        'Crash',
        crashIcon(),
        simulation?.crashed ?? false,
        act.crash,
        'This client stops dead, without a goodbye, until the page is reloaded.',
      ),
    ),
    h('p', { class: 'note', id: 'simulation-note' }, note(simulation)),
  )
}

function note(simulation: PanelModel['simulation']): Child {
  if (!simulation) {
    return [
      'To switch these on, make the client with ',
      h('code', {}, 'createSimulation().environment'),
      ' and pass the simulation to ',
      h('code', {}, 'mountDevtools'),
      '.',
    ]
  }
  if (simulation.crashed) return 'The dead do not change.'
  if (simulation.offline) return 'Nothing of this tab’s client gets through. Submits wait in the outbox.'
  if (simulation.hidden) return 'After five seconds the lead goes to a visible tab, if there is one.'
  return 'Only this tab’s client is fooled; the page goes on.'
}
