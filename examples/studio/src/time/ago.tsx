import { useHoldfast } from '@holdfast/client/react'
import { useSyncExternalStore } from 'react'
import { lastTick, onTick } from './ticker.ts'
import { agoText } from './time-text.ts'

/** How long ago something was. Looked at every second and rendered anew only when it reads differently. */
export function Ago({ at }: { at: string }) {
  const { store } = useHoldfast()
  const text = useSyncExternalStore(onTick, () =>
    agoText(Date.parse(at), lastTick() + store.getState().clockOffset),
  )
  return <time dateTime={at}>{text}</time>
}
