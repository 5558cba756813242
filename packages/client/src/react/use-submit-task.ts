import { useCallback, useState } from 'react'
import type { Submission, SubmitInput } from '../create-client.ts'
import { HoldfastError } from '../holdfast-error.ts'
import { useHoldfast } from './holdfast-provider.ts'
import type { AnyTasks, TaskCatalog, TypedInput, TypedTask } from './task-catalog.ts'

export interface SubmitTask<C extends TaskCatalog, K extends keyof C & string> {
  /** Shows a placeholder at once and resolves when it is on disk; `task` follows when it is sent. */
  submit<T extends K>(input: TypedInput<C, T>): Promise<Submission<TypedTask<C, T>>>
  /** While at least one is being written to disk. */
  isSubmitting: boolean
  /** Why the last one was refused. */
  error: HoldfastError | null
  reset(): void
}

/**
 * @example
 * import type { AppTasks } from '../server/task-types.ts' // TaskTypesOf<typeof types>
 * const { submit } = useSubmitTask<AppTasks>()
 * const { task } = await submit({ type: 'image', params: { prompt: 'a lighthouse' } })
 * const { result } = await task // of an image
 */
export function useSubmitTask<
  C extends TaskCatalog = AnyTasks,
  K extends keyof C & string = keyof C & string,
>(): SubmitTask<C, K> {
  const client = useHoldfast()
  const [underWay, setUnderWay] = useState(0)
  const [error, setError] = useState<HoldfastError | null>(null)

  const submit = useCallback(
    async <T extends K>(input: TypedInput<C, T>) => {
      const keep = (caught: unknown) => {
        if (caught instanceof HoldfastError) setError(caught)
      }
      setError(null)
      setUnderWay((n) => n + 1)
      try {
        const submission = await client.submit(input as unknown as SubmitInput)
        submission.task.catch(keep)
        return submission as unknown as Submission<TypedTask<C, T>>
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
