import { useCallback, useState } from 'react'
import type { Submission, SubmitInput } from '../create-client.ts'
import { HoldfastError } from '../holdfast-error.ts'
import { useHoldfast } from './holdfast-provider.ts'
import type { AnyTasks, TaskCatalog, TypedInput, TypedTask } from './task-catalog.ts'

export interface SubmitTask<C extends TaskCatalog, K extends keyof C & string> {
  /** Shows a placeholder at once and resolves when the wish is written down; `task` follows when it is sent. */
  submit(input: TypedInput<C, K>): Promise<Submission<TypedTask<C, K>>>
  /** While at least one is being written down. */
  isSubmitting: boolean
  /** Why the last one was refused. */
  error: HoldfastError | null
  reset(): void
}

/**
 * @example
 * type AppTasks = { image: { params: { prompt: string }; result: { outputs: TaskOutput[] } } }
 * const { submit } = useSubmitTask<AppTasks, 'image'>()
 * await submit({ type: 'image', params: { prompt: 'a lighthouse' } })
 */
export function useSubmitTask<
  C extends TaskCatalog = AnyTasks,
  K extends keyof C & string = keyof C & string,
>(): SubmitTask<C, K> {
  const client = useHoldfast()
  const [underWay, setUnderWay] = useState(0)
  const [error, setError] = useState<HoldfastError | null>(null)

  const submit = useCallback(
    async (input: TypedInput<C, K>) => {
      const keep = (caught: unknown) => {
        if (caught instanceof HoldfastError) setError(caught)
      }
      setError(null)
      setUnderWay((n) => n + 1)
      try {
        const submission = await client.submit(input as unknown as SubmitInput)
        submission.task.catch(keep)
        return submission as unknown as Submission<TypedTask<C, K>>
      } catch (caught) {
        keep(caught)
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
