import { useHoldfast } from '@holdfast/client/react'
import { useSyncExternalStore } from 'react'

const TICK = 1000
const listeners = new Set<() => void>()
let timer: ReturnType<typeof setInterval> | undefined
let tick = Date.now()

/** One timer for all ticking texts of the page, and none when nothing ticks. */
function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  if (!timer) {
    tick = Date.now()
    timer = setInterval(() => {
      tick = Date.now()
      for (const notify of listeners) notify()
    }, TICK)
  }
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
}

const stillness = () => () => {}

/** The server's time in milliseconds, once a second while `ticking`: a wrong local clock must not bend estimates. */
export function useServerNow(ticking: boolean): number {
  const client = useHoldfast()
  const local = useSyncExternalStore(ticking ? subscribe : stillness, () => tick)
  return local + client.store.getState().clockOffset
}
