import { z } from 'zod'
import { HoldfastError } from '../errors.ts'
import { scrubSecrets } from './scrub-secrets.ts'
import type { TaskType, TaskTypes } from './task-types.ts'

export interface CheckedParams {
  type: TaskType
  /** What is stored and handed to the provider: what the type's schema made of it, and the model if one can be chosen. */
  params: Record<string, unknown>
}

/** Names come from users and go into messages. */
const MOST_NAMES = 10
const LONGEST_NAME = 50

/** Throws what the caller is told for parameters that a type does not take. */
export function checkParams(
  types: TaskTypes,
  body: { type: string; params: Record<string, unknown> },
): CheckedParams {
  const type = Object.hasOwn(types, body.type) ? types[body.type] : undefined
  if (!type) {
    throw new HoldfastError(
      'UNKNOWN_TASK_TYPE',
      `There is no task type "${body.type}". Known: ${Object.keys(types).join(', ')}.`,
    )
  }
  // The schema never sees the model: prices are per type, so only the type's own list may let a user choose.
  const { model, ...given } = scrubSecrets(body.params)
  const parsed = type.params.safeParse(given)
  const problems = parsed.success ? [] : parsed.error.issues.map((issue) => problemOf(issue, type))
  if (model !== undefined && !isOffered(type, model)) problems.push(modelProblem(body.type, type))
  if (!parsed.success || problems.length > 0) throw new HoldfastError('INVALID_PARAMS', problems.join('; '))
  const chosen = isOffered(type, model) ? model : type.models?.[0]
  return { type, params: chosen === undefined ? parsed.data : { ...parsed.data, model: chosen } }
}

/**
 * The model that a stored task is for; undefined where its type names none. The list may have changed since the task was
 * created: what is no longer on it is not used.
 */
export function modelOfTask(
  type: TaskType | undefined,
  { model }: Record<string, unknown>,
): string | undefined {
  return type && isOffered(type, model) ? model : type?.models?.[0]
}

function isOffered({ models = [] }: TaskType, model: unknown): model is string {
  return typeof model === 'string' && models.includes(model)
}

function modelProblem(name: string, { models = [] }: TaskType): string {
  return models.length > 0
    ? `params.model: must be one of ${models.join(', ')}`
    : `params.model: the model of "${name}" cannot be chosen; leave it out`
}

function problemOf(issue: z.core.$ZodIssue, type: TaskType): string {
  const place = ['params', ...issue.path].join('.')
  if (issue.code !== 'unrecognized_keys') return `${place}: ${issue.message}`
  const known = issue.path.length === 0 ? namesOf(type) : null
  const unknown = issue.keys.slice(0, MOST_NAMES).map((name) => `"${name.slice(0, LONGEST_NAME)}"`)
  const more = issue.keys.length - unknown.length
  const all = `${unknown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
  return `${place}: unknown ${all}${known ? `; known: ${known.join(', ')}` : ''}`
}

/** Null where the schema is not a plain object's. */
function namesOf({ params, models }: TaskType): string[] | null {
  if (!(params instanceof z.ZodObject)) return null
  return [...Object.keys(params.shape), ...(models?.length ? ['model'] : [])]
}
