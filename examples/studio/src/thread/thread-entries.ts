import type { Placeholder, TrackedTask } from '@holdfast/client'
import { type Message, placeholderIdOf } from '@holdfast/shared'

/**
 * One place in the thread. Its key is the placeholder id through its whole life, so that the card in which a
 * visitor watched the progress is the very card in which the picture appears.
 */
export type ThreadEntry =
  | { kind: 'task'; key: string; at: number; placeholder: Placeholder }
  | { kind: 'message'; key: string; at: number; message: Message; task: TrackedTask | null }

interface Sources {
  /** Null while they have not been fetched. */
  messages: readonly Message[] | null
  placeholders: readonly Placeholder[]
  tasks: readonly TrackedTask[]
}

/**
 * Messages and placeholders, merged by time, exactly one entry per placeholder id. A finished task shows its own
 * result until its message has been fetched: nothing disappears in between.
 */
export function threadEntries({ messages, placeholders, tasks }: Sources): ThreadEntry[] {
  const tasksById = new Map(tasks.map((task) => [task.id, task]))
  const entries = new Map<string, ThreadEntry>()
  const shown = new Set<string>()

  for (const message of messages ?? []) {
    const placeholder = placeholders.find((candidate) => isPlaceOf(candidate, message))
    const task = placeholder?.task ?? tasksById.get(message.taskId ?? '') ?? null
    if (placeholder) shown.add(placeholder.id)
    const key = placeholder?.id ?? keyOf(message)
    const at = task ? firstAskedAt(task, tasksById) : Date.parse(message.createdAt)
    entries.set(key, { kind: 'message', key, at, message, task })
  }
  for (const placeholder of placeholders) {
    if (shown.has(placeholder.id)) continue
    const at = firstAskedAt(placeholder.task, tasksById)
    entries.set(placeholder.id, { kind: 'task', key: placeholder.id, at, placeholder })
  }
  return [...entries.values()].sort((a, b) => a.at - b.at || (a.key < b.key ? -1 : 1))
}

function isPlaceOf(placeholder: Placeholder, message: Message): boolean {
  const { task } = placeholder
  return (
    message.taskId === task.id ||
    message.id === task.messageId ||
    (message.placeholderId !== null && message.placeholderId === placeholder.id)
  )
}

function keyOf(message: Message): string {
  if (!message.taskId) return message.placeholderId ?? message.id
  return placeholderIdOf({ id: message.taskId, placeholderId: message.placeholderId })
}

/** By the submit, not the start: a card must not jump when its turn comes, nor when a retry takes it over. */
function firstAskedAt(task: TrackedTask, tasksById: ReadonlyMap<string, TrackedTask>): number {
  let first = task
  const seen = new Set([task.id])
  while (first.retryOf && !seen.has(first.retryOf)) {
    seen.add(first.retryOf)
    const earlier = tasksById.get(first.retryOf)
    if (!earlier) break
    first = earlier
  }
  return Date.parse(first.createdAt)
}
