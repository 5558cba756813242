/** An abort controller that also aborts with its parent. (`AbortSignal.any` is younger than the browsers we serve.) */
export interface ChildAbort {
  readonly signal: AbortSignal
  abort(): void
  /** Lets go of the parent, which may live much longer. */
  release(): void
}

export function childAbort(parent: AbortSignal): ChildAbort {
  const controller = new AbortController()
  const abort = () => controller.abort()
  if (parent.aborted) abort()
  else parent.addEventListener('abort', abort)
  return { signal: controller.signal, abort, release: () => parent.removeEventListener('abort', abort) }
}
