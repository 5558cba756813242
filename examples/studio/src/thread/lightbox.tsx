import './lightbox.css'
import { useEffect, useRef } from 'react'
import { Icon } from '../ui/icon.tsx'

/** The whole picture, over everything else; Escape, the button or a click beside it closes. */
export function Lightbox({ url, prompt, onClose }: { url: string; prompt: string; onClose(): void }) {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const element = dialog.current
    element?.showModal()
    return () => element?.close()
  }, [])
  return (
    <dialog ref={dialog} className="lightbox" aria-label={prompt} onClose={onClose} closedby="any">
      <img src={url} alt={prompt} />
      <p>{prompt}</p>
      <button type="button" className="icon-button" aria-label="Close picture" onClick={onClose}>
        <Icon name="close" />
      </button>
    </dialog>
  )
}
