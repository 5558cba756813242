import { onAbort } from '../../providers/on-abort.ts'
import { SourceError } from './source-error.ts'

/** Ends one transfer at its time limit, or when its caller says so. */
export interface TransferClock {
  /** Aborts with a `SourceError` as its reason. */
  readonly signal: AbortSignal
  /** The transfer is over. */
  end(): void
}

export function startTransferClock(timeoutMs: number, caller?: AbortSignal): TransferClock {
  const abort = new AbortController()
  const stop = () =>
    abort.abort(new SourceError('CUT', 'The transfer was stopped.', { cause: caller?.reason }))
  if (caller?.aborted) stop()
  const timer = setTimeout(
    () => abort.abort(new SourceError('TIMEOUT', `The file did not arrive within ${timeoutMs} ms.`)),
    timeoutMs,
  )
  const stopListening = caller ? onAbort(caller, stop) : undefined
  return {
    signal: abort.signal,
    end() {
      clearTimeout(timer)
      stopListening?.()
    },
  }
}
