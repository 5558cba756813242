import type { Items } from '../environment/items.ts'
import { listen } from '../environment/listen.ts'
import { randomId } from '../environment/random-id.ts'

const FORGET = 'forget.'

/**
 * Says in this browser that a user has signed out. A log-out changes it. Each write of something of the user's
 * looks first whether it is as it was when the session began. So a tab that was writing at that moment, or a page that
 * comes back from the back/forward cache, brings nothing back.
 */
export interface SignOutMark {
  /** Whether nobody has signed this user out since this session began. */
  stands(): boolean
  /** Signs the user out everywhere in this browser; returns the new mark. */
  change(forget: boolean): string
  /** Calls back when another page has changed it, at the latest when somebody looks at this one. Returns the undo. */
  watch(page: EventTarget | null, onSignedOut: (forget: boolean) => void): () => void
}

const markKey = (user: string) => `${user}:signed-out`

export function changeMark(items: Items, user: string, forget: boolean): string {
  const mark = (forget ? FORGET : '') + randomId()
  items.set(markKey(user), mark)
  return mark
}

export function createSignOutMark(items: Items, user: string): SignOutMark {
  let known = items.get(markKey(user))
  const stands = () => items.get(markKey(user)) === known
  return {
    stands,
    change(forget) {
      const mark = changeMark(items, user, forget)
      known = mark
      return mark
    },
    watch(page, onSignedOut) {
      const look = () => {
        if (!stands()) onSignedOut(items.get(markKey(user))?.startsWith(FORGET) ?? false)
      }
      return listen(page, { storage: look, pageshow: look, resume: look, visibilitychange: look })
    },
  }
}
