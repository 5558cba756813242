import { LEASE_MS } from '../../leadership/lease.ts'
import { type Child, h, type VNode } from '../dom/element.ts'
import { CONNECTION_TEXT } from '../models/state-text.ts'
import { durationText } from '../models/time-text.ts'
import { LEVEL_TEXT, whyRole } from '../models/why-role.ts'
import type { PanelActions, PanelModel } from '../panel-model.ts'
import { badge, button, code, dot } from './pieces.ts'
import { simulationNote } from './simulate.ts'

/** How this tab stands, always in sight, and what can be done to it. */
export function thisTab(model: PanelModel, act: PanelActions): VNode {
  const { insight, me, simulation } = model
  const { session } = insight
  const connection = simulation?.crashed ? NONE : CONNECTION_TEXT[insight.connection]
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
      fact('User', h('span', { class: 'one-line', title: insight.userId ?? '' }, insight.userId ?? 'nobody')),
    ),
    h('p', { class: 'note', id: 'simulation-note' }, simulationNote(simulation)),
  )
}

const NONE = { label: 'None', about: 'The server has seen it close.', tone: 'bad' } as const

const fact = (name: string, ...value: Child[]): VNode =>
  h('div', { key: name }, h('dt', {}, name), h('dd', {}, ...value))

function lease({ insight, now }: PanelModel): Child {
  const held = insight.session?.lease
  if (!held?.owner) return 'nobody has it'
  const left = Math.max(0, held.expiresAt - now)
  return [
    held.owner === insight.tabId ? 'this tab' : code(held.owner),
    h('progress', { max: LEASE_MS, value: left, 'aria-label': 'Time left of the lease' }),
    h('small', {}, left > 0 ? `${durationText(left)} left unless renewed` : 'run out: its owner is asked'),
  ]
}
