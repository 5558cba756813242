import { useCallback, useState } from 'react'
import type { HoldfastClient } from '../create-client.ts'
import { HoldfastError } from '../holdfast-error.ts'
import { useHoldfast } from './holdfast-provider.ts'

export interface SubmitTask {
  /** Rejects as `client.submit` does; the error is also kept in `error`. */
  submit: HoldfastClient['submit']
  /** While at least one submit has no answer yet. */
  isSubmitting: boolean
  error: HoldfastError | null
  reset(): void
}

export function useSubmitTask(): SubmitTask {
  const client = useHoldfast()
  const [underWay, setUnderWay] = useState(0)
  const [error, setError] = useState<HoldfastError | null>(null)

  const submit = useCallback<HoldfastClient['submit']>(
    async (input) => {
      setError(null)
      setUnderWay((n) => n + 1)
      try {
        return await client.submit(input)
      } catch (caught) {
        if (caught instanceof HoldfastError) setError(caught)
        throw caught
      } finally {
        setUnderWay((n) => n - 1)
      }
    },
    [client],
  )
  const reset = useCallback(() => setError(null), [])

  return { submit, isSubmitting: underWay > 0, error, reset }
}
