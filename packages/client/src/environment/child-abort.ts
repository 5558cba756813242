/** An abort controller that also aborts with its parent. (`AbortSignal.any` is younger than the browsers we serve.) */
export interface ChildAbort {
  readonly signal: AbortSignal
  /** Lets go of the parent, too. */
  abort(): void
  /** Lets go of the parent, which may live much longer. */
  release(): void
}

export function childAbort(parent: AbortSignal): ChildAbort {
  const controller = new AbortController()
  const release = () => parent.removeEventListener('abort', abort)
  const abort = () => {
    controller.abort()
    release()
  }
  if (parent.aborted) abort()
  else parent.addEventListener('abort', abort)
  return { signal: controller.signal, abort, release }
}
