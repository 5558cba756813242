import { useHoldfast } from '@holdfast/client/react'
import { useSyncExternalStore } from 'react'
import { lastTick, onTick } from './ticker.ts'

const stillness = () => () => {}

/** The server's time in milliseconds, once a second while `ticking`: a wrong local clock must not bend estimates. */
export function useServerNow(ticking: boolean): number {
  const client = useHoldfast()
  const local = useSyncExternalStore(ticking ? onTick : stillness, lastTick)
  return local + client.store.getState().clockOffset
}
