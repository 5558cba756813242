import { openIdbStore, recordKeys } from '../cache/idb-store.ts'
import { createKeep } from '../cache/kept.ts'
import { createLocalCopy } from '../cache/local-copy.ts'
import type { Environment } from '../environment/environment.ts'
import { createItems } from '../environment/items.ts'
import { originsKey } from '../placeholders/origin.ts'
import { copyKey, inboxKey, outboxKey } from './scope.ts'
import { changeMark } from './sign-out-mark.ts'

/**
 * A log-out before anybody has signed in to this page: an app that finds at its start that there is no user any more
 * wants nothing of the last one to stay. Users of this app who have left something in this browser are found by their keys.
 */
export async function signOutEveryone(environment: Environment, app: string, forget: boolean): Promise<void> {
  const { indexedDB, localStorage, clock } = environment
  const items = createItems(localStorage)
  const marks = new Map<string, string>()
  function mark(keys: unknown[]) {
    for (const key of keys) {
      const user = userIn(key, app)
      if (user && !marks.has(user)) marks.set(user, changeMark(items, user, forget))
    }
  }
  // First those who can be told at once: the database may be held up by another page.
  mark(Array.from({ length: localStorage?.length ?? 0 }, (_, index) => localStorage?.key?.(index)))
  if (forget) items.set(originsKey(app), null)
  for (const user of marks.keys()) items.set(copyKey(user), null)
  const disk = (await hasDatabase(indexedDB, app)) && indexedDB ? openIdbStore(indexedDB, app, clock) : null
  // Nothing can be read, so that nothing can be left there either.
  if (disk) mark(await recordKeys(disk).catch(() => []))
  const keep = createKeep(disk, () => {})
  for (const [user, signedOut] of marks) {
    const copy = createLocalCopy({ keep, items, key: copyKey(user), clock, mayWrite: () => false })
    await copy.purge(signedOut)
    if (forget) for (const key of [outboxKey(user), inboxKey(user)]) await keep(key, isAnything).drop()
  }
}

/** Opening a database that is not there would make it. */
async function hasDatabase(indexedDB: IDBFactory | null, name: string): Promise<boolean> {
  const all = await indexedDB?.databases?.().catch(() => undefined)
  return all?.some((database) => database.name === name) ?? true
}

/** Whose key it is; undefined when it is nobody's, or another app's. */
function userIn(key: unknown, app: string): string | undefined {
  if (typeof key !== 'string' || !key.startsWith(`${app}:`)) return undefined
  const user = key.slice(0, key.lastIndexOf(':'))
  return user === app ? undefined : user
}

const isAnything = (_: unknown): _ is unknown => true
