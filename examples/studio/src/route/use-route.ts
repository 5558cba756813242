import { useMemo, useSyncExternalStore } from 'react'
import { hrefOf, parseRoute, type Route } from './route.ts'

function subscribe(listener: () => void): () => void {
  window.addEventListener('hashchange', listener)
  return () => window.removeEventListener('hashchange', listener)
}

export function useRoute(): Route {
  const hash = useSyncExternalStore(subscribe, () => window.location.hash)
  return useMemo(() => parseRoute(hash), [hash])
}

/** `replace` leaves no entry in the history: for moves the visitor did not ask for. */
export function navigate(route: Route, { replace = false } = {}): void {
  const href = hrefOf(route)
  if (!replace) {
    window.location.hash = href
    return
  }
  window.history.replaceState(null, '', href)
  window.dispatchEvent(new HashChangeEvent('hashchange'))
}
