import { h, type VNode } from '../dom/element.ts'

const icon = (size: number, stroke: number, ...paths: string[]): VNode =>
  h(
    'svg',
    {
      viewBox: '0 0 24 24',
      width: size,
      height: size,
      fill: 'none',
      stroke: 'currentColor',
      'stroke-width': stroke,
      'stroke-linecap': 'round',
      'stroke-linejoin': 'round',
      'aria-hidden': 'true',
    },
    paths.map((d) => h('path', { d })),
  )

/** A holdfast: what keeps seaweed where it is. */
export const mark = (size: number) =>
  icon(
    size,
    2,
    'M12 8.2a2.3 2.3 0 1 0 0-4.6 2.3 2.3 0 0 0 0 4.6Z',
    'M12 8.2V20',
    'M12 11.5c0 3.8-2.3 6.4-6.3 6.8',
    'M12 11.5c0 3.8 2.3 6.4 6.3 6.8',
    'M12 16c0 2.3-1.2 3.8-3 4.6',
    'M12 16c0 2.3 1.2 3.8 3 4.6',
  )

export const closeIcon = () => icon(16, 2, 'M6 6l12 12', 'M18 6L6 18')
export const hiddenIcon = () =>
  icon(
    16,
    2,
    'M3 3l18 18',
    'M10.6 6.1A9.7 9.7 0 0 1 12 6c5 0 8.5 4.5 9.5 6a16 16 0 0 1-2.6 3.1',
    'M6.5 7.8A16 16 0 0 0 2.5 12c1 1.5 4.5 6 9.5 6a9 9 0 0 0 4-.9',
  )
export const offlineIcon = () =>
  icon(
    16,
    2,
    'M3 3l18 18',
    'M5 12.5a10 10 0 0 1 4-2.3',
    'M15 10.3a10 10 0 0 1 4 2.2',
    'M8.5 16a5 5 0 0 1 7 0',
    'M12 20h.01',
  )
export const crashIcon = () => icon(16, 2, 'M13 2L5 14h6l-1 8 8-12h-6l1-8Z')
export const copyIcon = () => icon(14, 2, 'M9 9h11v11H9z', 'M5 15H4V4h11v1')
