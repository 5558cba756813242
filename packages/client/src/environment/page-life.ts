export interface PageLife {
  visibility(): void
  /** Put away: perhaps for good, perhaps into the back/forward cache, or frozen. */
  away(): void
  back(): void
}

/** Follows a page through hiding, freezing and the back/forward cache. Returns the undo. */
export function onPageLife(page: EventTarget | null, life: PageLife): () => void {
  let isAway = false
  const away = () => {
    if (isAway) return
    isAway = true
    life.away()
  }
  const back = () => {
    if (!isAway) return
    isAway = false
    life.back()
  }
  const listeners: Record<string, (event: Event) => void> = {
    visibilitychange: life.visibility,
    pagehide: away,
    freeze: away,
    resume: back,
    // The first one, at load, has nothing to bring back.
    pageshow: back,
  }
  // Capturing, because `freeze` and `resume` happen at the document and do not bubble everywhere.
  for (const name in listeners) page?.addEventListener(name, listeners[name] ?? null, true)
  return () => {
    for (const name in listeners) page?.removeEventListener(name, listeners[name] ?? null, true)
  }
}
