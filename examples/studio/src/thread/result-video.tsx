import type { TaskOutput } from '@holdfast/shared'
import { type ReactNode, useCallback, useRef, useState } from 'react'
import { useSteadyUrl } from './use-steady-url.ts'

interface Props {
  output: TaskOutput
  prompt: string
  onBroken(): void
  missing: ReactNode
}

/** A clip. Its address changes only while nobody is watching: whoever has begun goes on with the one they have. */
export function ResultVideo({ output, prompt, onBroken, missing }: Props) {
  const element = useRef<HTMLVideoElement>(null)
  const loadUnlessWatched = useCallback(async () => {
    const video = element.current
    return !video || (video.paused && video.currentTime === 0)
  }, [])
  const { url, isBroken, giveUp } = useSteadyUrl(output, loadUnlessWatched)
  const [isLoaded, setLoaded] = useState(false)
  if (!url || isBroken) return missing

  return (
    // biome-ignore lint/a11y/useMediaCaption: generated clips have no speech, and providers send no caption track.
    <video
      ref={element}
      className="result"
      data-loaded={isLoaded}
      data-state={output.state}
      src={url}
      controls
      playsInline
      preload="metadata"
      aria-label={prompt}
      onLoadedMetadata={() => setLoaded(true)}
      onError={() => {
        giveUp()
        onBroken()
      }}
    />
  )
}
