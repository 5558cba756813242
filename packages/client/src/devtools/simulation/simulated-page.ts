/**
 * The page's events as the client shall see them: those of the real page that `lets` pass, and those made up with
 * `dispatchEvent`, which the real page does not see.
 */
export function createSimulatedPage(real: EventTarget | null, lets: (event: Event) => boolean): EventTarget {
  const own = new EventTarget()
  const gates = new WeakMap<EventListenerOrEventListenerObject, EventListener>()

  function gateOf(listener: EventListenerOrEventListenerObject): EventListener {
    const known = gates.get(listener)
    if (known) return known
    const gate = (event: Event) => {
      if (!lets(event)) return
      if (typeof listener === 'function') listener(event)
      else listener.handleEvent(event)
    }
    gates.set(listener, gate)
    return gate
  }

  return {
    addEventListener(type, listener, options) {
      if (!listener) return
      for (const target of [own, real]) target?.addEventListener(type, gateOf(listener), options)
    },
    removeEventListener(type, listener, options) {
      if (!listener) return
      for (const target of [own, real]) target?.removeEventListener(type, gateOf(listener), options)
    },
    dispatchEvent: (event) => own.dispatchEvent(event),
  }
}
