import type { CreateRequest } from './provider.ts'

/** The model for a task: what its parameters name, else what its type has; null where there is neither. */
export function modelOf(
  { type, params }: Pick<CreateRequest, 'type' | 'params'>,
  models: Record<string, string>,
): string | null {
  if (typeof params.model === 'string' && params.model !== '') return params.model
  return ownEntry(models, type)
}

/** What users read where there is none. */
export function noModelText(type: string): string {
  return `There is no model for “${type}”. Choose another type, or name one in the parameters.`
}

/** Names come from users: `constructor` must not find what every object has. */
export function ownEntry(entries: Record<string, string>, name: string): string | null {
  return (Object.hasOwn(entries, name) && entries[name]) || null
}
