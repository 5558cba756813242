import './switch-person-dialog.css'
import { useEffect, useRef } from 'react'
import { Icon } from '../ui/icon.tsx'
import { SignInOptions } from './sign-in-options.tsx'

/** Become someone else; what the former person has under way goes on and waits for them. */
export function SwitchPersonDialog({ onClose }: { onClose(): void }) {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const element = dialog.current
    element?.showModal()
    return () => element?.close()
  }, [])
  return (
    <dialog
      ref={dialog}
      className="switch-person"
      aria-labelledby="switch-person-heading"
      onClose={onClose}
      closedby="any"
    >
      <h2 id="switch-person-heading">Switch person</h2>
      <p className="help">Everyone sees only their own conversations and generations.</p>
      <SignInOptions onDone={onClose} />
      <button type="button" className="icon-button" aria-label="Close" onClick={onClose}>
        <Icon name="close" />
      </button>
    </dialog>
  )
}
