import { type Child, h, type VNode } from '../dom/element.ts'
import { shortId } from '../models/short-id.ts'
import { TONE_OF_STATUS } from '../models/state-text.ts'
import { type TaskAction, type TaskRow, taskRows } from '../models/task-rows.ts'
import type { PanelActions, PanelModel } from '../panel-model.ts'
import { badge, button, code, details, empty, opener, search, table } from './pieces.ts'

const ACTIONS: Record<TaskAction, { label: string; done: string }> = {
  cancel: { label: 'Cancel', done: 'Cancelled.' },
  retry: { label: 'Retry', done: 'Submitted again, as a new task.' },
  save: { label: 'Save again', done: 'Saved.' },
}

export function tasksView({ insight, ui, now }: PanelModel, act: PanelActions): Child[] {
  const rows = taskRows(insight.tasks, ui.taskFilter, now + insight.clockOffset)
  const chosen = insight.tasks[ui.task ?? '']
  const all = Object.keys(insight.tasks).length
  return [
    h(
      'div',
      { class: 'bar' },
      search('Filter tasks', ui.taskFilter, (taskFilter) => act.set({ taskFilter })),
      h('span', { class: 'count' }, rows.length === all ? `${all}` : `${rows.length} of ${all}`),
      button('Refresh', () => act.attempt('The server has answered.', (client) => client.refresh())),
    ),
    h(
      'div',
      { class: 'split' },
      h(
        'div',
        { class: 'list' },
        rows.length > 0
          ? table(
              'Tasks',
              ['Task', 'Type', 'Status', 'Progress', 'Version', 'Origin', 'Age', 'Actions'],
              rows.map((row) => taskRow(row, row.id === ui.task, act)),
            )
          : all > 0
            ? empty('Nothing matches', 'Try another word: an id, a type, a status, an origin, a prompt.')
            : empty('No tasks', 'Unfinished tasks and those that ended within a day show here.'),
      ),
      chosen && details(`${chosen.type} ${shortId(chosen.id)}`, chosen, act, () => act.set({ task: null })),
    ),
  ]
}

function taskRow(row: TaskRow, isChosen: boolean, act: PanelActions): VNode {
  const { id, type, status, progress } = row
  return h(
    'tr',
    { key: id, 'data-chosen': isChosen },
    h(
      'td',
      {},
      opener(`${type} ${id}`, isChosen, () => act.set({ task: isChosen ? null : id }), code(id)),
    ),
    h('td', {}, type),
    h(
      'td',
      { class: 'nowrap' },
      badge(TONE_OF_STATUS[status] ?? 'calm', status),
      row.stale && badge('warn', 'stale'),
    ),
    h(
      'td',
      { class: 'nowrap' },
      row.isRunning &&
        h('progress', { max: 100, value: progress ?? null, 'aria-label': `Progress of ${type} ${id}` }),
      progress === null ? '–' : `${progress}%`,
    ),
    h('td', { class: 'number' }, row.version),
    h('td', { class: 'nowrap' }, row.origin),
    h('td', { class: 'nowrap' }, row.age),
    h(
      'td',
      { class: 'nowrap' },
      row.actions.map((name) =>
        button(
          ACTIONS[name].label,
          () =>
            act.attempt(ACTIONS[name].done, (client) =>
              name === 'cancel'
                ? client.cancel(id)
                : name === 'retry'
                  ? client.retry(id)
                  : client.retrySave(id),
            ),
          { 'aria-label': `${ACTIONS[name].label} ${type} ${id}` },
        ),
      ),
    ),
  )
}
