import { type Child, h, type VNode } from '../dom/element.ts'
import type { PanelActions, PanelModel } from '../panel-model.ts'
import { crashIcon, hiddenIcon, offlineIcon } from './icons.ts'

/** What can be done to this tab, always at hand. */
export function simulate({ simulation }: PanelModel, act: PanelActions): VNode {
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
    h('span', { 'aria-hidden': 'true' }, 'Simulate'),
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
  )
}

/** What the simulation does right now, or how to have one. */
export function simulationNote(simulation: PanelModel['simulation']): Child {
  if (!simulation) {
    return [
      'Hidden, Offline and Crash need a client made with ',
      h('code', {}, 'createSimulation().environment'),
      ', and that simulation passed to ',
      h('code', {}, 'mountDevtools'),
      '.',
    ]
  }
  if (simulation.crashed) return 'Nothing brings a crashed tab back but loading its page again.'
  if (simulation.offline) return 'Nothing of this tab’s client gets through. Submits wait in the outbox.'
  if (simulation.hidden) return 'After five seconds the lead goes to a visible tab, if there is one.'
  return 'A simulation fools this tab’s client only. The page itself goes on.'
}
