import type { Task } from '@holdfast/shared'
import { type Items, nameIn, readJson } from '../environment/items.ts'
import { shortName } from '../environment/short-name.ts'

/** Where a task was submitted, seen from this tab. */
export type Origin = 'this-tab' | 'other-tab' | 'other-device'

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
  session: Items
  /** Lives as long as the browser. */
  durable: Items
  /** Names the app. */
  app: string
  /** False once the user has signed out, in whichever tab. */
  mayWrite(): boolean
}

export const originsKey = (app: string) => `${app}:mine`

export function createOrigins({ session, durable, app, mayWrite }: OriginsOptions): Origins {
  const key = originsKey(app)
  const tab = nameIn(session, `${app}:tab`)
  const expected = new Map<string, string>()
  const here = new Set<string>()
  const recall = () => ({ ...(readJson(durable, key) as Record<string, string> | null) })
  let mine = recall()

  function claim(taskId: string, madeBy: string) {
    const name = shortName(taskId)
    if (mine[name] === madeBy) return
    // Read again: another tab may have written meanwhile.
    const made = Object.entries({ ...recall(), ...mine, [name]: madeBy })
    mine = Object.fromEntries(made.slice(-REMEMBERED))
    if (mayWrite()) durable.set(key, JSON.stringify(mine))
  }

  return {
    tab,
    of({ id, placeholderId, origin }) {
      const madeBy = expected.get(placeholderId ?? '')
      if (madeBy !== undefined) {
        expected.delete(placeholderId ?? '')
        claim(id, madeBy)
      }
      const name = shortName(id)
      if (mine[name] === tab) return 'this-tab'
      if (origin && origin !== 'other-device') here.add(id)
      return name in mine || here.has(id) ? 'other-tab' : 'other-device'
    },
    expect: (placeholderId, madeBy) => void expected.set(placeholderId, madeBy),
    claim,
    forget: () => durable.set(key, null),
  }
}
