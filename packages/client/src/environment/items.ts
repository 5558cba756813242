import { randomId } from './random-id.ts'

/** localStorage or sessionStorage that never throws: blocked, full or missing, it just remembers nothing. */
export interface Items {
  get(key: string): string | null
  /** Null removes it. */
  set(key: string, value: string | null): void
}

export function createItems(storage: Pick<Storage, 'getItem' | 'setItem' | 'removeItem'> | null): Items {
  return {
    get(key) {
      try {
        return storage?.getItem(key) ?? null
      } catch {
        return null
      }
    },
    set(key, value) {
      try {
        if (value === null) storage?.removeItem(key)
        else storage?.setItem(key, value)
      } catch {
        // Blocked or full: it is then known only as long as the page.
      }
    },
  }
}

/** What is kept there as JSON; null when there is nothing, or nothing that can be read. */
export function readJson(items: Items, key: string): unknown {
  try {
    return JSON.parse(items.get(key) ?? 'null')
  } catch {
    return null
  }
}

/** The same name each time, as long as the storage lasts; where there is none, a new one. */
export function nameIn(items: Items, key: string): string {
  const name = items.get(key) ?? randomId()
  items.set(key, name)
  return name
}

/** What has been stored or sent may be anything. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null
