/** Who is signed in on this device, kept so that a reload stays signed in. */
export interface SavedSession {
  /** How the studio calls them. */
  name: string
  userId: string
  token: string
  /** A `dev` session can get a new token by itself; a pasted one cannot. */
  kind: 'dev' | 'pasted'
}

export interface SavedSessionStore {
  read(): SavedSession | null
  write(session: SavedSession | null): void
  /** Tells of changes made by other tabs. Returns the undo. */
  onChange(listener: (session: SavedSession | null) => void): () => void
}

export function createSavedSessionStore(app: string): SavedSessionStore {
  const key = `holdfast-${app}:session`
  return {
    read: () => {
      try {
        return parse(localStorage.getItem(key))
      } catch {
        // Blocked cookies make even reading throw: then a session lasts as long as the page.
        return null
      }
    },
    write: (session) => {
      try {
        if (session) localStorage.setItem(key, JSON.stringify(session))
        else localStorage.removeItem(key)
      } catch {
        // As above: not being remembered is no reason not to sign in.
      }
    },
    onChange: (listener) => {
      const onStorage = (event: StorageEvent) => {
        if (event.key === key) listener(parse(event.newValue))
      }
      window.addEventListener('storage', onStorage)
      return () => window.removeEventListener('storage', onStorage)
    },
  }
}

function parse(text: string | null): SavedSession | null {
  if (!text) return null
  try {
    const value: unknown = JSON.parse(text)
    return isSession(value) ? value : null
  } catch {
    // Written by something else: as good as signed out.
    return null
  }
}

function isSession(value: unknown): value is SavedSession {
  if (typeof value !== 'object' || value === null) return false
  const fields = value as Partial<Record<keyof SavedSession, unknown>>
  return (
    typeof fields.name === 'string' &&
    typeof fields.userId === 'string' &&
    typeof fields.token === 'string' &&
    (fields.kind === 'dev' || fields.kind === 'pasted')
  )
}
