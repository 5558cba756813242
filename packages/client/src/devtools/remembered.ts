import { createItems, readJson } from '../environment/items.ts'

export const VIEWS = ['tabs', 'tasks', 'outbox', 'storage', 'messages'] as const
export type ViewName = (typeof VIEWS)[number]

/** How this tab's panel was left: over reloads, as long as the tab lasts. */
export interface Remembered {
  open: boolean
  view: ViewName
  /** In pixels; null: as tall as the style sheet says. */
  height: number | null
}

const KEY = 'holdfast-devtools'

export function createMemory(storage: Pick<Storage, 'getItem' | 'setItem' | 'removeItem'> | null) {
  const items = createItems(storage)
  return {
    recall(initiallyOpen: boolean): Remembered {
      const { open, view, height } = (readJson(items, KEY) ?? {}) as Partial<Remembered>
      return {
        open: typeof open === 'boolean' ? open : initiallyOpen,
        view: VIEWS.find((name) => name === view) ?? 'tabs',
        height: typeof height === 'number' && height > 0 ? height : null,
      }
    },
    keep: ({ open, view, height }: Remembered) => items.set(KEY, JSON.stringify({ open, view, height })),
  }
}
