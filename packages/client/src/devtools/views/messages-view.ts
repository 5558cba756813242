import { type Child, h } from '../dom/element.ts'
import { messageRows } from '../models/message-rows.ts'
import type { PanelActions, PanelModel } from '../panel-model.ts'
import { badge, button, code, details, empty, opener, search, table } from './pieces.ts'

export function messagesView({ insight, messages, ui }: PanelModel, act: PanelActions): Child[] {
  const log = ui.paused ?? messages
  const rows = messageRows(log, insight.tabId, ui.messageFilter)
  const chosen = rows.find(({ number }) => number === ui.message)
  return [
    h(
      'div',
      { class: 'bar' },
      search('Filter messages', ui.messageFilter, (messageFilter) => act.set({ messageFilter })),
      h(
        'span',
        { class: 'count' },
        rows.length === log.length ? `${log.length}` : `${rows.length} of ${log.length}`,
      ),
      button(ui.paused ? 'Go on' : 'Pause', () => act.set({ paused: ui.paused ? null : messages }), {
        'aria-pressed': String(ui.paused !== null),
      }),
      button('Clear', act.clearMessages),
    ),
    h(
      'div',
      { class: 'split' },
      h(
        'div',
        { class: 'list' },
        rows.length > 0
          ? table(
              'Messages between tabs',
              ['Time', 'From', 'Kind', 'Message'],
              rows.map(({ number, time, from, isMine, kind, text }) =>
                h(
                  'tr',
                  { key: number, 'data-chosen': number === ui.message },
                  h('td', { class: 'nowrap number' }, h('time', {}, time)),
                  h('td', { class: 'nowrap' }, isMine ? badge('calm', 'this tab') : code(from)),
                  h(
                    'td',
                    {},
                    opener(
                      `${kind} at ${time}`,
                      number === ui.message,
                      () => act.set({ message: number === ui.message ? null : number }),
                      h('code', {}, kind),
                    ),
                  ),
                  h('td', { class: 'why' }, text),
                ),
              ),
            )
          : log.length > 0
            ? empty('Nothing matches', 'Try another word: a kind, a tab, something that was said.')
            : empty('Silence', 'Open a second tab and they will talk.'),
      ),
      chosen &&
        details(`${chosen.kind} at ${chosen.time}`, chosen.envelope, act, () => act.set({ message: null })),
    ),
  ]
}
