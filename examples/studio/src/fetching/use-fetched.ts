import { useCallback, useEffect, useRef, useState } from 'react'
import { createLoader, type Loader } from './loader.ts'

export interface Fetched<T> {
  /** Null until the first answer. */
  data: T | null
  /** Of the last try; null once one has worked. */
  error: unknown
  reload(): void
}

/** Loads on mount and on `reload`. `load` must be stable: a new one is a new question. */
export function useFetched<T>(load: () => Promise<T>, initial: T | null = null): Fetched<T> {
  const [data, setData] = useState<T | null>(initial)
  const [error, setError] = useState<unknown>(null)
  const loader = useRef<Loader | null>(null)

  useEffect(() => {
    const created = createLoader<T>({
      load,
      onData: (next) => {
        setData(next)
        setError(null)
      },
      onError: setError,
    })
    loader.current = created
    created.request()
    return () => created.stop()
  }, [load])

  const reload = useCallback(() => loader.current?.request(), [])
  return { data, error, reload }
}
