import type { CreateRequest } from './provider.ts'

/** The model for a task: the one chosen of those that its type names, else what is set for its type; null for neither. */
export function modelOf(
  { type, model }: Pick<CreateRequest, 'type' | 'model'>,
  models: Record<string, string>,
): string | null {
  return model ?? ownEntry(models, type)
}

/** What users read where there is none. */
export function noModelText(type: string): string {
  return `There is no model for “${type}”. Choose another type.`
}

/** Names come from users: `constructor` must not find what every object has. */
export function ownEntry(entries: Record<string, string>, name: string): string | null {
  return (Object.hasOwn(entries, name) && entries[name]) || null
}
