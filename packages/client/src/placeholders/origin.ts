import type { Task } from '@holdfast/shared'
import { randomId } from '../environment/random-id.ts'

/** Where a task was submitted, seen from this tab. */
export type Origin = 'this-tab' | 'other-tab' | 'other-device'

type Items = Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>

/** Enough for every task a browser can still show; the oldest are forgotten first. */
const REMEMBERED = 300

/** Where a task came from, as far as this browser knows. What is learned only ever brings a task nearer. */
export interface Origins {
  /** Names this tab across its reloads, and across log-out and log-in. */
  readonly tab: string
  of(task: Pick<Task, 'id' | 'placeholderId'> & { origin?: Origin }): Origin
  /** A submit is under way: should its task arrive by stream before the reply, it is recognised by this id. */
  expect(placeholderId: string, madeBy: string): void
  /** That tab submitted it. Outlives the page and the log-out. */
  claim(taskId: string, madeBy: string): void
  forget(): void
}

export interface OriginsOptions {
  /** Lives as long as the tab. */
  session: Items | null
  /** Lives as long as the browser. */
  durable: Items | null
  /** Names the app … */
  app: string
  /** … and the user's place in it. */
  scope: string
}

export function createOrigins({ session, durable, app, scope }: OriginsOptions): Origins {
  const key = `${scope}:mine`
  const tab = nameTab(session, `${app}:tab`)
  const expected = new Map<string, string>()
  const here = new Set<string>()
  let mine = recall()

  function recall(): Record<string, string> {
    try {
      const made: unknown = JSON.parse(durable?.getItem(key) ?? '{}')
      return typeof made === 'object' && made !== null ? (made as Record<string, string>) : {}
    } catch {
      // Blocked or garbled: those tasks then count as another device's.
      return {}
    }
  }

  function claim(taskId: string, madeBy: string) {
    if (mine[taskId] === madeBy) return
    // Read again: another tab may have written meanwhile.
    const made = Object.entries({ ...recall(), ...mine, [taskId]: madeBy })
    mine = Object.fromEntries(made.slice(-REMEMBERED))
    try {
      durable?.setItem(key, JSON.stringify(mine))
    } catch {
      // Full or blocked: known until the reload.
    }
  }

  return {
    tab,
    of({ id, placeholderId, origin }) {
      const madeBy = placeholderId === null ? undefined : expected.get(placeholderId)
      if (madeBy !== undefined) {
        expected.delete(placeholderId ?? '')
        claim(id, madeBy)
      }
      if (mine[id] === tab) return 'this-tab'
      if (origin && origin !== 'other-device') here.add(id)
      return id in mine || here.has(id) ? 'other-tab' : 'other-device'
    },
    expect: (placeholderId, madeBy) => void expected.set(placeholderId, madeBy),
    claim,
    forget() {
      mine = {}
      here.clear()
      expected.clear()
      try {
        durable?.removeItem(key)
      } catch {
        // Blocked storage holds nothing to remove.
      }
    },
  }
}

function nameTab(session: Items | null, key: string): string {
  const fresh = randomId()
  try {
    const known = session?.getItem(key)
    if (known) return known
    session?.setItem(key, fresh)
  } catch {
    // Blocked: after a reload its tasks count as another tab's.
  }
  return fresh
}
