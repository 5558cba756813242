import type { FilesResult, Shaped, TaskShape } from '@holdfast/shared'
import { z } from 'zod'
import type { TaskType } from './task-types.ts'

type ParamsSchema = z.ZodType<Record<string, unknown>>

export interface TaskTypeDefinition<Params extends ParamsSchema, Result, Model extends string = never>
  extends Omit<TaskType, 'provider' | 'params' | 'models' | 'watchedPollMs'> {
  /** Who does it: the provider, or its name. */
  provider: string | { readonly name: string }
  /** What may be sent, without `model`. What it makes of it is stored and handed to the provider. */
  params: Params
  /** What `params.model` may be; the first is taken where it is left out. @default the model cannot be chosen */
  models?: readonly [Model, ...Model[]]
  /** How often to poll while somebody watches. @default 5 s; the provider's own minimum still holds */
  watchedPollMs?: number
  /**
   * What `task.result` is, where that is known better than "some files". For the compiler only: it becomes the type that
   * clients see, and no result is held against it.
   */
  result?: z.ZodType<Result>
}

/** A task type that knows what goes in and what comes out. */
export type DefinedTaskType<Params extends ParamsSchema, Result, Model extends string = never> = TaskType &
  Shaped<
    TaskShape<
      z.input<Params> & ([Model] extends [never] ? unknown : { model?: Model | undefined }),
      z.output<Params> & ([Model] extends [never] ? unknown : { model: Model }),
      Result
    >
  >

const DEFAULT_WATCHED_POLL_MS = 5_000

/**
 * A kind of generation that users may ask for. Put in a record it makes the types of the app, for the server and, with
 * `TaskTypesOf`, for the client.
 *
 * @example
 * const types = {
 *   portrait: defineTaskType({
 *     provider: runway,
 *     params: z.object({ prompt: z.string().max(500), steps: z.int().default(20) }),
 *     deadlineMs: 10 * 60_000,
 *     expectedMs: 20_000,
 *   }),
 * }
 * export type AppTasks = TaskTypesOf<typeof types>
 * createHoldfast({ types, providers: [runway], … })
 */
export function defineTaskType<
  Params extends ParamsSchema,
  Result extends FilesResult = FilesResult,
  const Model extends string = never,
>(definition: TaskTypeDefinition<Params, Result, Model>): DefinedTaskType<Params, Result, Model> {
  const { provider, result: _forTheCompiler, watchedPollMs = DEFAULT_WATCHED_POLL_MS, ...rest } = definition
  const type: TaskType = {
    ...rest,
    watchedPollMs,
    provider: typeof provider === 'string' ? provider : provider.name,
  }
  if (type.params instanceof z.ZodObject && 'model' in type.params.shape) {
    throw new Error(
      `A task type for ${type.provider} has "model" in its params. Name what may be chosen in models: ['…'] instead.`,
    )
  }
  if (type.models && (type.models.length === 0 || type.models.includes(''))) {
    throw new Error(
      `A task type for ${type.provider} has models without a name. Name at least one, or leave it out.`,
    )
  }
  for (const [name, value] of Object.entries(type)) {
    if (name.endsWith('Ms') && value !== undefined && !(Number.isFinite(value) && Number(value) > 0)) {
      throw new Error(
        `A task type for ${type.provider} has ${name}: ${value}. It must be above 0, in milliseconds.`,
      )
    }
  }
  return type
}
