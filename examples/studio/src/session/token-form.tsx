import { type FormEvent, useId, useState } from 'react'
import { useSession } from './session-context.ts'

/** For servers that check real tokens: paste one that their sign-in gave you. */
export function TokenForm({ onDone }: { onDone?: (() => void) | undefined }) {
  const session = useSession()
  const fieldId = useId()
  const helpId = useId()
  const [token, setToken] = useState('')
  const [error, setError] = useState<string | null>(null)

  function submit(event: FormEvent) {
    event.preventDefault()
    try {
      session.signInWithToken(token.trim())
      onDone?.()
    } catch (cause) {
      setError(cause instanceof Error ? cause.message : String(cause))
    }
  }

  return (
    <form className="token-form" onSubmit={submit}>
      <label htmlFor={fieldId}>Access token</label>
      <textarea
        id={fieldId}
        className="field mono"
        rows={4}
        spellCheck={false}
        autoComplete="off"
        placeholder="eyJhbGciOi…"
        value={token}
        onChange={(event) => setToken(event.target.value)}
        aria-describedby={helpId}
        aria-invalid={error !== null}
      />
      <p className={error ? 'help bad' : 'help'} id={helpId} role={error ? 'alert' : undefined}>
        {error ??
          'A JSON Web Token from the sign-in this server trusts, such as your Supabase project’s. It stays in this browser.'}
      </p>
      <button type="submit" className="button primary" disabled={!token.trim()}>
        Sign in with token
      </button>
    </form>
  )
}
