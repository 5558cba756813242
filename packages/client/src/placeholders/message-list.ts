import { placeholderIdOf } from '@holdfast/shared'
import type { TrackedTask } from '../store/merge-tasks.ts'
import { type Placeholder, toPlaceholders } from './placeholder.ts'

/** How an app's own messages are read. Each part may be missing in a message. */
export interface MessageListOptions<M> {
  id(message: M): string
  /** The task whose finish wrote it. */
  taskId?(message: M): string | null | undefined
  /** The placeholder it takes the place of. */
  placeholderId?(message: M): string | null | undefined
  /** ISO 8601. */
  createdAt(message: M): string
}

/** One place in the list. The key stays the same when a placeholder becomes its message. */
export type MessageListEntry<M> =
  | { kind: 'message'; key: string; message: M; task: TrackedTask | null }
  | { kind: 'placeholder'; key: string; placeholder: Placeholder }

/**
 * For an app that keeps its messages itself: a pure function that merges them with the tasks, by time, one entry for
 * each place (F7). A placeholder is there until its message is, and never beside it.
 *
 * @example
 * const merge = createMessageListAdapter<ChatMessage>({ id: (m) => m.id, taskId: (m) => m.taskId, createdAt: (m) => m.at })
 * const entries = merge(messages, tasks, Date.now() + client.store.getState().clockOffset)
 */
export function createMessageListAdapter<M>(options: MessageListOptions<M>) {
  return (messages: readonly M[], tasks: readonly TrackedTask[], now: number): MessageListEntry<M>[] => {
    const placeholders = toPlaceholders(tasks, now)
    const placeOf = new Map<string, Placeholder>()
    for (const placeholder of placeholders) {
      const { task } = placeholder
      for (const name of [`task ${task.id}`, `message ${task.messageId}`, `placeholder ${placeholder.id}`]) {
        placeOf.set(name, placeholder)
      }
    }
    const entries = new Map<string, { at: string; entry: MessageListEntry<M> }>()

    for (const message of messages) {
      const taskId = options.taskId?.(message)
      const given = options.placeholderId?.(message)
      const placeholder =
        (taskId && placeOf.get(`task ${taskId}`)) ||
        placeOf.get(`message ${options.id(message)}`) ||
        (given && placeOf.get(`placeholder ${given}`)) ||
        null
      const own = taskId
        ? placeholderIdOf({ id: taskId, placeholderId: given ?? null })
        : (given ?? options.id(message))
      const key = placeholder ? placeholder.id : own
      const at = placeholder ? placeholder.startedAt : options.createdAt(message)
      entries.set(key, { at, entry: { kind: 'message', key, message, task: placeholder?.task ?? null } })
    }
    for (const placeholder of placeholders) {
      const key = placeholder.id
      if (!entries.has(key)) {
        entries.set(key, { at: placeholder.startedAt, entry: { kind: 'placeholder', key, placeholder } })
      }
    }
    return [...entries.values()]
      .sort((a, b) => (a.at === b.at ? (a.entry.key < b.entry.key ? -1 : 1) : a.at < b.at ? -1 : 1))
      .map(({ entry }) => entry)
  }
}
