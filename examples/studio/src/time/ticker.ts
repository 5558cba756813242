const TICK_MS = 1000
const listeners = new Set<() => void>()
let timer: ReturnType<typeof setInterval> | undefined
let tick = Date.now()

/** One timer for all ticking texts of the page, and none when nothing ticks. Returns the undo. */
export function onTick(listener: () => void): () => void {
  listeners.add(listener)
  if (!timer) {
    tick = Date.now()
    timer = setInterval(() => {
      tick = Date.now()
      for (const notify of listeners) notify()
    }, TICK_MS)
  }
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
}

/** The time of the last tick, by the local clock: the same for all who ask between two. */
export const lastTick = () => tick
