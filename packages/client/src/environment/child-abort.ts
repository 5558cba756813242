/** An abort controller that also aborts with its parent. (`AbortSignal.any` is younger than the browsers we serve.) */
export interface ChildAbort {
  readonly signal: AbortSignal
  /** Lets go of the parent, too, which may live much longer. */
  abort(): void
}

export function childAbort(parent: AbortSignal): ChildAbort {
  const controller = new AbortController()
  const abort = () => {
    controller.abort()
    parent.removeEventListener('abort', abort)
  }
  if (parent.aborted) abort()
  else parent.addEventListener('abort', abort)
  return { signal: controller.signal, abort }
}
