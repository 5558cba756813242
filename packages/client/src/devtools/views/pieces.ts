import { type Child, h, type VNode } from '../dom/element.ts'
import { shortId } from '../models/short-id.ts'
import type { Tone } from '../models/state-text.ts'
import type { PanelActions } from '../panel-model.ts'
import { copyIcon } from './icons.ts'

export const badge = (tone: Tone, ...children: Child[]): VNode =>
  h('span', { class: 'badge', 'data-tone': tone }, ...children)

export const dot = (tone: Tone): VNode =>
  h('span', { class: 'dot', 'data-tone': tone, 'aria-hidden': 'true' })

export const code = (id: string): VNode => h('code', { title: id }, shortId(id))

export const button = (
  label: string,
  onclick: () => void,
  more: Record<string, string | boolean> = {},
): VNode => h('button', { type: 'button', class: 'button', onclick, ...more }, label)

/** Says in a calm way that there is nothing, and what would change that. */
export const empty = (title: string, text: string): VNode =>
  h('div', { class: 'empty' }, h('strong', {}, title), h('p', {}, text))

/** A table with its name and its column heads; a head that is empty is for eyes that need none. */
export const table = (name: string, heads: string[], rows: VNode[]): VNode =>
  h(
    'table',
    { 'aria-label': name },
    h(
      'thead',
      {},
      h(
        'tr',
        {},
        heads.map((head) => h('th', { scope: 'col' }, head)),
      ),
    ),
    h('tbody', {}, rows),
  )

export const search = (label: string, value: string, onInput: (value: string) => void): VNode =>
  h('input', {
    type: 'search',
    class: 'search',
    'aria-label': label,
    placeholder: label,
    value,
    oninput: (event: Event) => onInput((event.target as HTMLInputElement).value),
  })

/** Opens a closer look at a row's value, and closes it again. */
export const opener = (name: string, isOpen: boolean, onclick: () => void, ...children: Child[]): VNode =>
  h(
    'button',
    {
      type: 'button',
      class: 'link',
      'aria-expanded': String(isOpen),
      'aria-label': `Details of ${name}`,
      onclick,
    },
    ...children,
  )

/** A closer look at one value, beside the list it is from. */
export const details = (
  title: string,
  value: unknown,
  act: PanelActions,
  onClose: () => void,
  ...more: Child[]
): VNode =>
  h(
    'section',
    { key: 'details', class: 'details', 'aria-label': title },
    h(
      'header',
      {},
      h('h3', {}, title),
      ...more,
      h('button', { type: 'button', class: 'button', onclick: () => act.copy(value) }, copyIcon(), 'Copy'),
      button('Close', onClose, { 'aria-label': 'Close details' }),
    ),
    json(value),
  )

/** Above this, colours cost more than they help. */
const COLOURED = 10_000
const SHOWN = 60_000
const TOKEN = /("(?:[^"\\]|\\.)*")(\s*:)?|\b(?:true|false|null)\b|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?/gi
const made = new WeakMap<object, VNode>()

function json(value: unknown): VNode {
  const known = typeof value === 'object' && value !== null ? made.get(value) : undefined
  if (known) return known
  const text = JSON.stringify(value, null, 2) ?? 'undefined'
  const children =
    text.length > COLOURED ? [text.slice(0, SHOWN), text.length > SHOWN && '…'] : coloured(text)
  const node = h('pre', { tabindex: 0, 'aria-label': 'As JSON' }, h('code', {}, ...children))
  if (typeof value === 'object' && value !== null) made.set(value, node)
  return node
}

function coloured(text: string): Child[] {
  const parts: Child[] = []
  let from = 0
  for (const match of text.matchAll(TOKEN)) {
    const [token, string, colon] = match
    const kind = colon ? 'name' : string ? 'text' : 'other'
    const shown = colon ? (string ?? '') : token
    parts.push(text.slice(from, match.index), h('span', { class: kind }, shown))
    from = match.index + shown.length
  }
  return [...parts, text.slice(from)]
}
