import { h, type VNode } from '../dom/element.ts'
import { crashIcon } from './icons.ts'
import { button } from './pieces.ts'

/** A crashed tab shows no page. This one would still look alive, so it is covered. */
export const veil = (onRevive: () => void): VNode =>
  h(
    'div',
    { key: 'veil', class: 'veil' },
    h(
      'div',
      { role: 'alert' },
      crashIcon(),
      h('strong', {}, 'This tab has crashed'),
      h('p', {}, 'A crash is simulated. See how the other tabs carry on, then bring this one back.'),
      button('Reload', onRevive),
    ),
  )
