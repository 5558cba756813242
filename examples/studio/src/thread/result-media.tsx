import './frame-note.css'
import './result-media.css'
import type { TaskOutput } from '@holdfast/shared'
import { useState } from 'react'
import { Icon } from '../ui/icon.tsx'
import { Lightbox } from './lightbox.tsx'

interface Props {
  output: TaskOutput
  prompt: string
  /** For providers that do not say what kind of file it is. */
  isVideoByType: boolean
  onBroken(): void
}

/**
 * One picture or clip. It keeps the address it first loaded from: the message's is signed anew and would make the
 * picture flash for nothing. Only when that address fails does it take the newest.
 */
export function ResultMedia({ output, prompt, isVideoByType, onBroken }: Props) {
  const [url, setUrl] = useState(output.url)
  const [isBroken, setBroken] = useState(false)
  const [isLoaded, setLoaded] = useState(false)
  const [isEnlarged, setEnlarged] = useState(false)

  if (output.url !== url && (isBroken || url === null)) {
    setUrl(output.url)
    setBroken(false)
  }
  if (!url || isBroken) return <MissingFile output={output} onRetry={onBroken} />

  const handleError = () => {
    setBroken(true)
    onBroken()
  }
  if (output.contentType ? output.contentType.startsWith('video/') : isVideoByType) {
    return (
      // biome-ignore lint/a11y/useMediaCaption: generated clips have no speech, and providers send no caption track.
      <video
        className="result"
        data-loaded={isLoaded}
        src={url}
        controls
        playsInline
        preload="metadata"
        aria-label={prompt}
        onLoadedMetadata={() => setLoaded(true)}
        onError={handleError}
      />
    )
  }
  return (
    <div className="picture">
      <img
        className="result"
        data-loaded={isLoaded}
        src={url}
        alt={prompt}
        decoding="async"
        onLoad={() => setLoaded(true)}
        onError={handleError}
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
