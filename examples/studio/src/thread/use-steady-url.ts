import type { TaskOutput } from '@holdfast/shared'
import { useEffect, useState } from 'react'

interface Steady {
  /** Where to show the file from. Null: nowhere any more. */
  url: string | null
  /** The address does not work: show the newest one instead, if there is another. */
  giveUp(): void
  isBroken: boolean
}

/**
 * The address to show a file from. It stays the one it was first loaded from, because addresses are signed anew all
 * the time and the picture would flash for nothing. When the file has moved to our own store, the new address takes
 * over as soon as `load` has it ready, so that nobody sees the change.
 */
export function useSteadyUrl(output: TaskOutput, load: (url: string) => Promise<boolean>): Steady {
  const [shown, setShown] = useState({ url: output.url, state: output.state })
  const [isBroken, setBroken] = useState(false)
  const isGone = output.state === 'expired' || output.state === 'deleted'

  if (!isGone && output.url !== null && output.url !== shown.url && (isBroken || shown.url === null)) {
    setShown({ url: output.url, state: output.state })
    setBroken(false)
  }
  const hasMoved = output.state === 'stored' && shown.state === 'remote'
  useEffect(() => {
    const { url } = output
    if (!hasMoved || url === null) return
    let isCurrent = true
    void load(url).then((isReady) => {
      if (isCurrent && isReady) setShown({ url, state: 'stored' })
    })
    return () => {
      isCurrent = false
    }
  }, [hasMoved, output, load])

  return { url: isGone ? null : shown.url, isBroken, giveUp: () => setBroken(true) }
}

/** Fetched and decoded: from then on the browser can paint it at once. */
export async function loadPicture(url: string): Promise<boolean> {
  const image = new Image()
  image.src = url
  return image.decode().then(
    () => true,
    () => false,
  )
}
