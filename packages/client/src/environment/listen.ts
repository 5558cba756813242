/** Listens for several events; returns the undo. Capturing, since `freeze` and `resume` do not bubble everywhere. */
export function listen(
  page: EventTarget | null,
  listeners: Record<string, (event: Event) => void>,
): () => void {
  const each = (how: 'addEventListener' | 'removeEventListener') => {
    for (const [name, listener] of Object.entries(listeners)) page?.[how](name, listener, true)
  }
  each('addEventListener')
  return () => each('removeEventListener')
}
