import type { HoldfastClient } from '@holdfast/client'
import { devLogin } from './dev-login.ts'
import type { SavedSession, SavedSessionStore } from './saved-session.ts'
import { userIdFromToken } from './user-id-from-token.ts'

export interface SessionState {
  user: SavedSession | null
  /** Why the visitor finds themselves signed out, if they did not ask for it. */
  reason: string | null
}

export interface Session {
  getState(): SessionState
  subscribe(listener: () => void): () => void
  /** Signs in, or switches to another person: the former one's tasks stay in their local copy. */
  signInAs(name: string): Promise<void>
  signInWithToken(token: string): void
  /** Ends the session in every tab of this device and deletes its local copy. */
  signOut(): Promise<void>
  /** Takes up the saved session and follows the other tabs. Returns the undo. */
  start(): () => void
}

const TOKEN_REFUSED = 'The server no longer accepts your access token. Paste a new one to go on.'

/** Joins the three places that must agree on who is signed in: the saved session, the client and the page. */
export function createSession(client: HoldfastClient, saved: SavedSessionStore): Session {
  const listeners = new Set<() => void>()
  let state: SessionState = { user: null, reason: null }

  function become(user: SavedSession | null, reason: string | null = null): void {
    state = { user, reason }
    for (const listener of listeners) listener()
  }

  function enter(user: SavedSession): void {
    become(user)
    void client.setUser({ id: user.userId, getToken: ({ fresh }) => (fresh ? renew(user) : tokenOf(user)) })
  }

  /** The newest token may have been saved by another tab. */
  function tokenOf(user: SavedSession): string {
    const newest = saved.read()
    return newest?.userId === user.userId ? newest.token : user.token
  }

  async function renew(user: SavedSession): Promise<string> {
    if (user.kind === 'pasted') {
      leave(TOKEN_REFUSED)
      throw new Error(TOKEN_REFUSED)
    }
    const { token } = await devLogin(user.name)
    // Unless another tab has logged out meanwhile, and this one has not heard of it.
    if (saved.read()?.userId === user.userId) saved.write({ ...user, token })
    return token
  }

  function leave(reason: string | null): void {
    saved.write(null)
    become(null, reason)
    void client.setUser(null)
  }

  function followOtherTabs(next: SavedSession | null): void {
    if (next?.userId === state.user?.userId) return
    if (next) {
      enter(next)
      return
    }
    become(null)
    void client.setUser(null)
  }

  return {
    getState: () => state,
    subscribe: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    signInAs: async (name) => {
      const login = await devLogin(name)
      const user: SavedSession = { name, ...login, kind: 'dev' }
      saved.write(user)
      enter(user)
    },
    signInWithToken: (token) => {
      const userId = userIdFromToken(token)
      if (!userId) throw new Error('This is not an access token: a JSON Web Token with a subject is needed.')
      const user: SavedSession = { name: userId, userId, token, kind: 'pasted' }
      saved.write(user)
      enter(user)
    },
    signOut: async () => {
      saved.write(null)
      become(null)
      await client.logout()
    },
    start: () => {
      const user = saved.read()
      if (user) enter(user)
      const stopFollowing = saved.onChange(followOtherTabs)
      const stopWatching = client.store.subscribe((now, before) => {
        const ended = now.userId === null && before.userId !== null && before.userId === state.user?.userId
        // Another tab logged out, and the client heard of it before the storage event came.
        if (ended) become(null)
      })
      return () => {
        stopFollowing()
        stopWatching()
      }
    },
  }
}
