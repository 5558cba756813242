import { HoldfastError } from '@holdfast/client'
import { useState } from 'react'

export interface Action {
  run(): void
  isPending: boolean
  /** Why the last try did not work, for people. */
  error: string | null
}

/** A button's work: one at a time, its failure shown beside it. */
export function useAction(work: () => Promise<unknown>): Action {
  const [isPending, setPending] = useState(false)
  const [error, setError] = useState<string | null>(null)

  async function run() {
    setPending(true)
    setError(null)
    try {
      await work()
    } catch (cause) {
      setError(textOf(cause))
    } finally {
      setPending(false)
    }
  }

  return { run: () => void run(), isPending, error }
}

function textOf(cause: unknown): string | null {
  // It ended while the request was under way: the card is about to say so itself.
  if (cause instanceof HoldfastError && cause.code === 'TASK_ALREADY_ENDED') return null
  return cause instanceof Error ? cause.message : 'That did not work. Try again in a moment.'
}
