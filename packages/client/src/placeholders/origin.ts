import type { Task } from '@holdfast/shared'

/** Where a task was submitted, seen from this tab. */
export type Origin = 'this-tab' | 'other-tab' | 'other-device'

/** Enough for every task a tab can still show; the oldest are forgotten first. */
const REMEMBERED = 200

/** Where a task came from, as far as this tab knows. What is learned only ever brings a task nearer. */
export interface Origins {
  of(task: Pick<Task, 'id' | 'placeholderId'> & { origin?: Origin }): Origin
  /** A submit is under way: should its task arrive by stream before the reply, it is recognised by this id. */
  expect(placeholderId: string): void
  /** This tab submitted it. Survives a reload of the tab. */
  claim(taskId: string): void
  forget(): void
}

export interface OriginsOptions {
  storage: Pick<Storage, 'getItem' | 'setItem' | 'removeItem'> | null
  key: string
}

export function createOrigins({ storage, key }: OriginsOptions): Origins {
  const mine = new Set(recall())
  const here = new Set<string>()
  const expected = new Set<string>()

  function recall(): string[] {
    try {
      const ids: unknown = JSON.parse(storage?.getItem(key) ?? '[]')
      return Array.isArray(ids) ? ids.filter((id) => typeof id === 'string') : []
    } catch {
      // Blocked or garbled: those tasks then count as another tab's.
      return []
    }
  }

  function claim(taskId: string) {
    if (mine.has(taskId)) return
    mine.add(taskId)
    try {
      storage?.setItem(key, JSON.stringify([...mine].slice(-REMEMBERED)))
    } catch {
      // Full or blocked: known until the reload, and another tab's after it.
    }
  }

  return {
    of({ id, placeholderId, origin }) {
      if (placeholderId !== null && expected.delete(placeholderId)) claim(id)
      if (mine.has(id)) return 'this-tab'
      if (origin && origin !== 'other-device') here.add(id)
      return here.has(id) ? 'other-tab' : 'other-device'
    },
    expect: (placeholderId) => void expected.add(placeholderId),
    claim,
    forget() {
      mine.clear()
      here.clear()
      expected.clear()
      try {
        storage?.removeItem(key)
      } catch {
        // Blocked storage holds nothing to remove.
      }
    },
  }
}
