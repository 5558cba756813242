const listenersOf = new WeakMap<AbortSignal, Set<() => void>>()

/**
 * Calls back when the signal aborts, until undone. Many calls share one signal here, and adding a listener to a signal
 * takes a walk over all that it has: with a thousand calls under way that cost more than the calls' own bookkeeping.
 * So each signal gets one listener, and the calls are in a set.
 */
export function onAbort(signal: AbortSignal, listener: () => void): () => void {
  let listeners = listenersOf.get(signal)
  if (!listeners) {
    const all = new Set<() => void>()
    listeners = all
    listenersOf.set(signal, all)
    signal.addEventListener('abort', () => {
      for (const each of [...all]) each()
    })
  }
  const added = listeners
  added.add(listener)
  return () => added.delete(listener)
}
