import type { SubmitInput } from '../create-client.ts'
import type { TrackedTask } from '../store/merge-tasks.ts'

/**
 * What tasks an app has, as a type: `{ image: { params: { prompt: string }, result: { outputs: … } } }`. It exists
 * only for the compiler.
 */
export type TaskCatalog = Record<string, { params: object; result?: unknown }>

export type AnyTasks = Record<string, { params: Record<string, unknown>; result: TrackedTask['result'] }>

export type TypedTask<C extends TaskCatalog, K extends keyof C> = Omit<
  TrackedTask,
  'type' | 'params' | 'result'
> & {
  type: K
  params: C[K]['params']
  result: C[K]['result'] | null
}

export type TypedInput<C extends TaskCatalog, K extends keyof C & string> = {
  [T in K]: SubmitInput<T, C[T]['params']>
}[K]
