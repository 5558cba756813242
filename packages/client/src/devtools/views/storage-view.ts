import { type Child, h } from '../dom/element.ts'
import { PROBLEM_TEXT, RESTORE_TEXT } from '../models/state-text.ts'
import { bytesText, offsetText } from '../models/time-text.ts'
import type { PanelActions, PanelModel } from '../panel-model.ts'
import { badge, details, empty, opener, table } from './pieces.ts'

export function storageView({ insight, records, ui }: PanelModel, act: PanelActions): Child[] {
  const { storage, storageProblem, restore, clockOffset, session } = insight
  const chosen = records.rows?.find(({ where, key }) => `${where} ${key}` === ui.record)
  const total = records.rows?.reduce((sum, { bytes }) => sum + bytes, 0) ?? 0
  return [
    h(
      'dl',
      { class: 'tiles' },
      tile(
        'Storage',
        badge(storage === 'durable' ? 'good' : 'bad', storage),
        storageProblem ? PROBLEM_TEXT[storageProblem] : 'What is kept outlives the page.',
      ),
      tile('Restore', RESTORE_TEXT[restore], restoreAbout[restore]),
      tile('Cursor', h('code', {}, session?.cursor ?? 'none'), 'From where news is asked for.'),
      tile('Clock offset', offsetText(clockOffset), 'The server’s clock, seen from here.'),
      tile('Kept', bytesText(total), `${records.rows?.length ?? 0} records, for this user.`),
    ),
    h(
      'div',
      { class: 'split' },
      h(
        'div',
        { class: 'list' },
        records.rows && records.rows.length > 0
          ? table(
              'Records of this user',
              ['Record', 'Where', 'What', 'Size'],
              records.rows.map(({ key, where, about, bytes }) => {
                const name = `${where} ${key}`
                const isChosen = ui.record === name
                return h(
                  'tr',
                  { key: name, 'data-chosen': isChosen },
                  h(
                    'td',
                    {},
                    opener(
                      name,
                      isChosen,
                      () => act.set({ record: isChosen ? null : name }),
                      h('code', { title: key }, lastPart(key)),
                    ),
                  ),
                  h('td', { class: 'nowrap' }, where),
                  h('td', { class: 'why' }, about),
                  h('td', { class: 'number nowrap' }, bytesText(bytes)),
                )
              }),
            )
          : empty('No records', records.problem ?? 'Nothing is kept here for this user.'),
      ),
      chosen && details(chosen.key, chosen.value, act, () => act.set({ record: null })),
    ),
  ]
}

const restoreAbout = {
  'signed-out': 'Nobody is signed in.',
  loading: 'Neither the local copy nor the server has answered.',
  'from-cache': 'Shown at once; the server has yet to agree.',
  confirmed: 'What shows is what the server holds.',
}

/** All of them begin alike. */
const lastPart = (key: string) => key.slice(key.lastIndexOf(':') + 1)

const tile = (name: string, value: Child, about: string) =>
  h('div', {}, h('dt', {}, name), h('dd', {}, value, h('small', {}, about)))
