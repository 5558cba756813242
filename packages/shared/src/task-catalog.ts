import type { Task, TaskOutput } from './task.ts'

/**
 * What an app can ask for, as the compiler knows it: task type → what may be sent, what is stored, what comes out. Made
 * by the server with `TaskTypesOf` and given to the client as a type; nothing of it is there at run time.
 *
 *     // server                                              // browser
 *     const types = { image: defineTaskType({ … }) }         import type { AppTasks } from './server.ts'
 *     export type AppTasks = TaskTypesOf<typeof types>       const submit = useSubmitTask<AppTasks>()
 */
export type TaskCatalog = Record<string, TaskShape>

/** One task type. */
export interface TaskShape<Input = unknown, Params = unknown, Result = unknown> {
  /** What is sent when a task is submitted. */
  input: Input
  /** What is stored and shown: the input with defaults filled in. */
  params: Params
  /** What `task.result` is once the task is completed. */
  result: Result
}

/** The result of every task that an external API did. */
export interface FilesResult {
  outputs: TaskOutput[]
}

/** Tasks of which nothing is known: what clients work with that are given no catalog. */
export type AnyTasks = Record<
  string,
  TaskShape<Record<string, unknown>, Record<string, unknown>, FilesResult>
>

/** A value that carries a shape for the compiler only. The property is never there. */
export interface Shaped<Shape extends TaskShape> {
  readonly '~shape'?: Shape
}

type ShapeOf<Type> = '~shape' extends keyof Type ? Extract<Type['~shape'], TaskShape> : AnyTasks[string]

/** The catalog of a record of task types. Types that were not defined with `defineTaskType` take anything. */
export type TaskTypesOf<Types extends Record<string, object>> = {
  [Name in keyof Types & string]: ShapeOf<Types[Name]>
}

export type TaskTypeName<Catalog extends TaskCatalog> = keyof Catalog & string

/** What may be sent for a task of this type. */
export type TaskInput<
  Catalog extends TaskCatalog,
  Name extends TaskTypeName<Catalog>,
> = Catalog[Name]['input']

/** A task of this type. */
export type TaskOf<Catalog extends TaskCatalog, Name extends TaskTypeName<Catalog>> = Omit<
  Task,
  'type' | 'params' | 'result'
> & {
  type: Name
  params: Catalog[Name]['params']
  result: Catalog[Name]['result'] | null
}

/** A task of any type of the catalog: looking at `task.type` tells the compiler which. */
export type AnyTaskOf<Catalog extends TaskCatalog> = {
  [Name in TaskTypeName<Catalog>]: TaskOf<Catalog, Name>
}[TaskTypeName<Catalog>]
