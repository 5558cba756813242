import { type Child, h, type VNode } from '../dom/element.ts'
import { CONNECTION_TEXT } from '../models/state-text.ts'
import type { TabRow } from '../models/tab-rows.ts'
import { agoText, clockText } from '../models/time-text.ts'
import { whyRole } from '../models/why-role.ts'
import type { PanelModel } from '../panel-model.ts'
import { badge, code, dot, table } from './pieces.ts'

/** Who is there, who leads and why; and what has happened here. */
export function tabsView({ tabs, insight, simulation, now, history }: PanelModel): Child[] {
  const leader = insight.session?.lease?.owner ?? null
  const row = (tab: TabRow): VNode => {
    const isDead = tab.presence === 'this' && simulation?.crashed === true
    const { facts } = tab
    return h(
      'tr',
      { key: tab.tabId, 'data-presence': isDead ? 'silent' : tab.presence },
      h(
        'td',
        { class: 'nowrap' },
        code(tab.tabId),
        tab.presence === 'this' && h('small', {}, 'this tab'),
        facts && h('small', { class: 'path', title: facts.path }, facts.path),
      ),
      h('td', { class: 'nowrap' }, role(tab, isDead), facts && h('small', {}, `epoch ${facts.epoch}`)),
      h('td', { class: 'why' }, why(tab, isDead, leader)),
      h('td', { class: 'nowrap' }, connection(tab, isDead)),
      h('td', { class: 'nowrap' }, tab.visible === null ? '–' : tab.visible ? 'visible' : 'hidden'),
      h('td', { class: 'nowrap' }, tab.presence === 'this' ? 'now' : agoText(now - tab.heardAt)),
    )
  }
  return [
    table('Tabs of this browser', ['Tab', 'Role', 'Why', 'Connection', 'Page', 'Heard'], tabs.map(row)),
    h('h3', { id: 'history' }, 'What happened in this tab'),
    h(
      'ol',
      { class: 'history', 'aria-labelledby': 'history' },
      [...history]
        .reverse()
        .map(({ number, at, text, tone }) =>
          h('li', { key: number }, h('time', {}, clockText(at)), dot(tone), h('span', {}, text)),
        ),
    ),
  ]
}

function role(tab: TabRow, isDead: boolean): VNode {
  if (isDead) return badge('bad', 'Crashed')
  if (tab.presence === 'silent') return badge('warn', 'Silent')
  if (tab.leads) return badge('good', 'Leads')
  return badge('calm', tab.facts ? 'Follows' : 'Heard of')
}

function why(tab: TabRow, isDead: boolean, leader: string | null): string {
  if (isDead)
    return 'A crash is simulated: it stands still, and its lock is free. Reload it to bring it back.'
  if (tab.presence === 'silent') return 'It no longer answers: closed, crashed or stopped.'
  if (tab.facts) return whyRole(tab.facts, leader)
  return tab.leads
    ? 'The lease names it. It has no devtools loaded, so it cannot say why.'
    : 'Known from its messages only: it has no devtools loaded, or is gone.'
}

function connection({ facts, presence }: TabRow, isDead: boolean): Child {
  if (!facts || isDead || presence === 'silent') return '–'
  const { label, tone } = CONNECTION_TEXT[facts.connection]
  return [dot(tone), label]
}
