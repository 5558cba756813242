import './sign-in-screen.css'
import { useDevice } from '../device/device-context.ts'
import { ThemeChoice } from '../theme/theme-choice.tsx'
import { BrandMark } from '../ui/brand-mark.tsx'
import { useSessionState } from './session-context.ts'
import { SignInOptions } from './sign-in-options.tsx'

export function SignInScreen() {
  const device = useDevice()
  const { reason } = useSessionState()
  return (
    <div className="sign-in-screen">
      <main className="sign-in-panel">
        <div className="sign-in-pitch">
          <p className="brand">
            <BrandMark />
            Holdfast Studio
          </p>
          <h1>
            <span>Start it here. </span>
            <span>Finish it anywhere.</span>
          </h1>
          <p className="lead">
            Make a picture or a clip, then reload, close the tab, log out or pick up another device. The work
            goes on, and every tab finds it again.
          </p>
        </div>
        <section className="sign-in-card" aria-labelledby="sign-in-heading">
          <h2 id="sign-in-heading">{device.name ? `Who is on the ${device.name}?` : 'Who are you today?'}</h2>
          {reason && (
            <p className="sign-in-error" role="alert">
              {reason}
            </p>
          )}
          <SignInOptions suggestedPerson={device.suggestedPerson} />
        </section>
      </main>
      <footer className="sign-in-footer">
        <ThemeChoice />
      </footer>
    </div>
  )
}
