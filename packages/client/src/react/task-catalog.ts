import type { SubmitInput } from '../create-client.ts'
import type { Placeholder } from '../placeholders/placeholder.ts'
import type { TrackedTask } from '../store/merge-tasks.ts'

/**
 * What tasks an app has, as a type that exists only for the compiler. Best taken from the server, as `TaskTypesOf` makes it
 * of the task types there; by hand: `{ image: { params: { prompt: string }, result: { outputs: … } } }`. `input` is what
 * may be sent where that is less than what is stored, since the server fills in the rest.
 */
export type TaskCatalog = Record<string, { input?: unknown; params: unknown; result?: unknown }>

export type AnyTasks = Record<string, { params: Record<string, unknown>; result: TrackedTask['result'] }>

/** A task of this type; of several: looking at `task.type` tells the compiler which. */
export type TypedTask<C extends TaskCatalog, K extends keyof C = keyof C> = {
  [T in K]: Omit<TrackedTask, 'type' | 'params' | 'result'> & {
    type: T
    params: C[T]['params']
    result: C[T]['result'] | null
  }
}[K]

export type TypedInput<C extends TaskCatalog, K extends keyof C & string> = SubmitInput<
  K,
  C[K] extends { input: infer Input } ? Input : C[K]['params']
>

export type TypedPlaceholder<C extends TaskCatalog> = Omit<Placeholder, 'task'> & { task: TypedTask<C> }
