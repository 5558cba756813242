import './sign-in-options.css'
import { type FormEvent, useId, useState } from 'react'
import { Avatar } from './avatar.tsx'
import { SignInError } from './dev-login.ts'
import { PERSONAS } from './personas.ts'
import { useSession } from './session-context.ts'
import { TokenForm } from './token-form.tsx'

interface Props {
  suggestedPerson?: string | null
  onDone?: () => void
}

/** Be one of a few people, anyone by name, or whoever a token says. */
export function SignInOptions({ suggestedPerson, onDone }: Props) {
  const session = useSession()
  const nameId = useId()
  const errorId = useId()
  const [name, setName] = useState(suggestedPerson ?? '')
  const [pending, setPending] = useState<string | null>(null)
  const [error, setError] = useState<SignInError | null>(null)
  const [withToken, setWithToken] = useState(false)

  async function signIn(person: string) {
    setPending(person)
    setError(null)
    try {
      await session.signInAs(person)
      onDone?.()
    } catch (cause) {
      const failure =
        cause instanceof SignInError
          ? cause
          : new SignInError('refused', 'Signing in did not work. Try again in a moment.', { cause })
      setError(failure)
      setWithToken(failure.code === 'no-dev-login')
    } finally {
      setPending(null)
    }
  }

  function submitName(event: FormEvent) {
    event.preventDefault()
    if (name.trim()) void signIn(name.trim())
  }

  return (
    <div className="sign-in-options">
      {error && (
        <p className="sign-in-error" id={errorId} role="alert">
          {error.message}
        </p>
      )}
      {withToken ? (
        <TokenForm onDone={onDone} />
      ) : (
        <>
          <ul className="personas">
            {PERSONAS.map((persona) => (
              <li key={persona.name}>
                <button
                  type="button"
                  className="persona"
                  disabled={pending !== null}
                  onClick={() => void signIn(persona.name)}
                >
                  <Avatar name={persona.name} />
                  <span className="persona-text">
                    <span className="persona-name">Continue as {persona.name}</span>
                    <span className="persona-about">{persona.about}</span>
                  </span>
                </button>
              </li>
            ))}
          </ul>
          <form className="name-form" onSubmit={submitName}>
            <label htmlFor={nameId}>Or be someone else</label>
            <div className="name-row">
              <input
                id={nameId}
                className="field"
                value={name}
                onChange={(event) => setName(event.target.value)}
                placeholder="Your name"
                autoComplete="nickname"
                maxLength={100}
                aria-describedby={error ? errorId : undefined}
              />
              <button type="submit" className="button primary" disabled={pending !== null || !name.trim()}>
                {pending ? 'Signing in…' : 'Continue'}
              </button>
            </div>
          </form>
        </>
      )}
      <button type="button" className="button quiet small" onClick={() => setWithToken(!withToken)}>
        {withToken ? 'Sign in by name instead' : 'Use an access token instead'}
      </button>
    </div>
  )
}
