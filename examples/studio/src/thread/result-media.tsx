import './frame-note.css'
import './result-media.css'
import type { TaskOutput } from '@holdfast/shared'
import { type ReactNode, useState } from 'react'
import { Icon } from '../ui/icon.tsx'
import { Lightbox } from './lightbox.tsx'
import { ResultVideo } from './result-video.tsx'
import { loadPicture, useSteadyUrl } from './use-steady-url.ts'

interface Props {
  output: TaskOutput
  prompt: string
  /** For providers that do not say what kind of file it is. */
  isVideoByType: boolean
  onBroken(): void
}

/** One picture or clip, or why it cannot be shown. */
export function ResultMedia({ output, prompt, isVideoByType, onBroken }: Props) {
  const isVideo = output.contentType ? output.contentType.startsWith('video/') : isVideoByType
  const Media = isVideo ? ResultVideo : ResultPicture
  return (
    <Media
      output={output}
      prompt={prompt}
      onBroken={onBroken}
      missing={<MissingFile output={output} onRetry={onBroken} />}
    />
  )
}

interface MediaProps {
  output: TaskOutput
  prompt: string
  onBroken(): void
  missing: ReactNode
}

function ResultPicture({ output, prompt, onBroken, missing }: MediaProps) {
  const { url, isBroken, giveUp } = useSteadyUrl(output, loadPicture)
  const [isLoaded, setLoaded] = useState(false)
  const [isEnlarged, setEnlarged] = useState(false)
  if (!url || isBroken) return missing

  return (
    <div className="picture">
      <img
        className="result"
        data-loaded={isLoaded}
        data-state={output.state}
        src={url}
        alt={prompt}
        // Once it is there, a change of its address must not leave a frame empty.
        decoding={isLoaded ? 'sync' : 'async'}
        onLoad={() => setLoaded(true)}
        onError={() => {
          giveUp()
          onBroken()
        }}
      />
      <button
        type="button"
        className="enlarge"
        aria-label={`Enlarge: ${prompt}`}
        onClick={() => setEnlarged(true)}
      />
      {isEnlarged && <Lightbox url={url} prompt={prompt} onClose={() => setEnlarged(false)} />}
    </div>
  )
}

function MissingFile({ output, onRetry }: { output: TaskOutput; onRetry(): void }) {
  const isGone = output.state === 'expired' || output.state === 'deleted'
  return (
    <div className="frame-note">
      <Icon name="gone" />
      <p>
        {output.state === 'expired' && 'The provider’s copy expired before it could be kept.'}
        {output.state === 'deleted' && 'The file was removed at the end of its keeping time.'}
        {!isGone && 'The file could not be loaded.'}
      </p>
      {!isGone && (
        <button type="button" className="button small" onClick={onRetry}>
          <Icon name="retry" />
          Load again
        </button>
      )}
    </div>
  )
}
