import { type Child, h } from '../dom/element.ts'
import { outboxRows } from '../models/outbox-rows.ts'
import type { PanelActions, PanelModel } from '../panel-model.ts'
import { badge, button, code, details, empty, opener, table } from './pieces.ts'

export function outboxView({ insight, ui, now }: PanelModel, act: PanelActions): Child[] {
  const rows = outboxRows(insight.unsent, now + insight.clockOffset)
  if (rows.length === 0) {
    return [
      empty(
        'Nothing waits',
        'What was submitted and not yet sent shows here: try it with Offline simulated.',
      ),
    ]
  }
  const chosen = insight.unsent[ui.task ?? '']
  return [
    h(
      'div',
      { class: 'split' },
      h(
        'div',
        { class: 'list' },
        table(
          'Not sent yet',
          ['Key', 'Type', 'State', 'Why', 'Age', 'Actions'],
          rows.map(({ key, type, state, text, age }) =>
            h(
              'tr',
              { key, 'data-chosen': ui.task === key },
              h(
                'td',
                {},
                opener(
                  key,
                  ui.task === key,
                  () => act.set({ task: ui.task === key ? null : key }),
                  code(key),
                ),
              ),
              h('td', {}, type),
              h('td', {}, badge(state === 'refused' ? 'bad' : 'warn', state)),
              h('td', { class: 'why' }, text),
              h('td', { class: 'nowrap' }, age),
              h(
                'td',
                { class: 'nowrap' },
                state === 'refused' &&
                  button('Resend', () => act.attempt('On its way again.', (client) => client.resend(key)), {
                    'aria-label': `Resend ${key}`,
                  }),
                button('Discard', () => act.attempt('Discarded.', (client) => client.discard(key)), {
                  'aria-label': `Discard ${key}`,
                }),
              ),
            ),
          ),
        ),
      ),
      chosen && details(`Unsent ${chosen.type}`, chosen, act, () => act.set({ task: null })),
    ),
  ]
}
