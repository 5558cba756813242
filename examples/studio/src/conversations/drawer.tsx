import './drawer.css'
import { type ReactNode, useEffect, useRef } from 'react'
import { Icon } from '../ui/icon.tsx'

interface Props {
  isOpen: boolean
  onClose(): void
  children: ReactNode
}

/** The side list on a phone: a modal dialog, so that focus, Escape and the background are the browser's business. */
export function Drawer({ isOpen, onClose, children }: Props) {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const element = dialog.current
    if (isOpen && !element?.open) element?.showModal()
    if (!isOpen) element?.close()
  }, [isOpen])
  return (
    <dialog
      ref={dialog}
      className="drawer"
      aria-label="Conversations and connection"
      onClose={onClose}
      closedby="any"
    >
      <button
        type="button"
        className="icon-button drawer-close"
        aria-label="Close conversations"
        onClick={onClose}
      >
        <Icon name="close" />
      </button>
      {isOpen && children}
    </dialog>
  )
}
