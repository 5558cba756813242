export interface WakeUp {
  page: EventTarget | null
  isVisible(): boolean
}

/** Moments at which waiting any longer makes no sense: the network is back, or someone looks at the page. */
export function onWakeUp({ page, isVisible }: WakeUp, wake: (why: 'online' | 'visible') => void): () => void {
  const online = () => wake('online')
  const visible = () => {
    if (isVisible()) wake('visible')
  }
  page?.addEventListener('online', online)
  page?.addEventListener('visibilitychange', visible)
  page?.addEventListener('pageshow', visible)
  return () => {
    page?.removeEventListener('online', online)
    page?.removeEventListener('visibilitychange', visible)
    page?.removeEventListener('pageshow', visible)
  }
}
