import { h, type VNode } from '../dom/element.ts'

const SMALLEST = 180
const STEP = 24

/** The upper edge of the panel, to be dragged, or moved with the arrow keys. */
export function grip(room: number, onHeight: (height: number) => void): VNode {
  const set = (height: number) => onHeight(Math.round(Math.max(SMALLEST, Math.min(height, room - 40))))
  const heightOf = (event: Event) =>
    (event.currentTarget as HTMLElement).parentElement?.offsetHeight ?? SMALLEST
  return h('div', {
    class: 'grip',
    role: 'separator',
    tabindex: 0,
    'aria-orientation': 'horizontal',
    'aria-label': 'Height of the panel',
    onpointerdown: (event: PointerEvent) =>
      (event.currentTarget as HTMLElement).setPointerCapture(event.pointerId),
    onpointermove: (event: PointerEvent) => {
      const held = (event.currentTarget as HTMLElement).hasPointerCapture(event.pointerId)
      if (held) set(room - event.clientY)
    },
    onkeydown: (event: KeyboardEvent) => {
      const by = { ArrowUp: STEP, ArrowDown: -STEP }[event.key]
      if (!by) return
      event.preventDefault()
      set(heightOf(event) + by)
    },
  })
}
