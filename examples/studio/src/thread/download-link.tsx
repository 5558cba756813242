import type { TaskOutput } from '@holdfast/shared'
import type { MouseEvent } from 'react'
import { Icon } from '../ui/icon.tsx'
import { downloadName } from './download-name.ts'
import { saveFile } from './save-file.ts'

interface Props {
  output: TaskOutput
  prompt: string
  describedBy: string
  /** Which of several files; null when there is only one. */
  number: number | null
}

export function DownloadLink({ output, prompt, describedBy, number }: Props) {
  const { url } = output
  if (!url) return null
  const name = downloadName(prompt, output.contentType)

  const handleClick = (event: MouseEvent) => {
    // Of our own origin the link itself does it. A click with a modifier means the link, wherever it leads.
    const isOurs = new URL(url, window.location.href).origin === window.location.origin
    if (isOurs || event.ctrlKey || event.metaKey || event.shiftKey) return
    event.preventDefault()
    void saveFile(url, name)
  }

  return (
    <a
      className="button small"
      href={url}
      download={name}
      rel="noopener"
      aria-describedby={describedBy}
      onClick={handleClick}
    >
      <Icon name="download" />
      {number === null ? 'Download' : `Download ${number}`}
    </a>
  )
}
