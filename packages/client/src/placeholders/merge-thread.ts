import { type Message, placeholderIdOf, type TaskOutput } from '@holdfast/shared'
import { addressesEnd } from '../store/addresses-end.ts'
import type { Placeholder } from './placeholder.ts'

/** How an app's own messages are read. Each part may be missing in a message. */
export interface ThreadOptions<M> {
  id(message: M): string
  /** The task whose finish wrote it. */
  taskId?(message: M): string | null | undefined
  /** The placeholder it takes the place of. */
  placeholderId?(message: M): string | null | undefined
  /** ISO 8601. */
  createdAt(message: M): string
  /** Its files, as they were when it was fetched. */
  outputs?(message: M): readonly TaskOutput[] | null | undefined
}

/** What a placeholder must have; its task may be of an app's own types. */
type AnyPlaceholder = Omit<Placeholder, 'task'> & {
  task: Pick<Placeholder['task'], 'id' | 'messageId' | 'createdAt'> & { result?: unknown }
}

interface Place {
  /** The same for a placeholder and for the message that takes its place. */
  key: string
  /** When it was first submitted, or the message's own date where its task is not known here. */
  submittedAt: string
  /** Always those whose addresses work longest: show these, not the message's own. */
  outputs: readonly TaskOutput[]
}

/** One place in a thread. */
export type ThreadEntry<M = Message, P extends AnyPlaceholder = Placeholder> = Place &
  (
    | { kind: 'message'; message: M; task: P['task'] | null }
    | { kind: 'placeholder'; placeholder: P; task: P['task'] }
  )

/** An entry and what its place depends on, read once: dates of different writers may differ in their digits. */
interface Ranked<E> {
  entry: E
  isWaiting: number
  at: number
  /** Of a message: when it was written, and which it is. */
  age: number
  id: string
}

const OF_HOLDFAST: ThreadOptions<Message> = {
  id: ({ id }) => id,
  taskId: ({ taskId }) => taskId,
  placeholderId: ({ placeholderId }) => placeholderId,
  createdAt: ({ createdAt }) => createdAt,
  outputs: ({ outputs }) => outputs,
}

/**
 * Messages and placeholders in one list, one entry for each place: a placeholder is there until its message is, and
 * never beside it. By first submit, so that nothing moves when a task starts, ends or is retried. What waits to be sent
 * comes last: the server will date it when it arrives there. Pure, and the same for any order of what it is given.
 *
 * @example
 * const { placeholders } = useRestoredTasks({ conversationId })
 * const entries = mergeThread(messages, placeholders) // messages of createConversations(client)
 * const mine = mergeThread(chat, placeholders, { id: (m) => m.id, taskId: (m) => m.taskId, createdAt: (m) => m.at })
 */
export function mergeThread<P extends AnyPlaceholder = Placeholder>(
  messages: readonly Message[],
  placeholders: readonly P[],
): ThreadEntry<Message, P>[]
export function mergeThread<M, P extends AnyPlaceholder = Placeholder>(
  messages: readonly M[],
  placeholders: readonly P[],
  options: ThreadOptions<M>,
): ThreadEntry<M, P>[]
export function mergeThread<M, P extends AnyPlaceholder>(
  messages: readonly M[],
  placeholders: readonly P[],
  options = OF_HOLDFAST as unknown as ThreadOptions<M>,
): ThreadEntry<M, P>[] {
  const find = byEveryName(placeholders)
  const places = new Map<string, Ranked<ThreadEntry<M, P>>>()

  for (const message of messages) {
    const id = options.id(message)
    const taskId = options.taskId?.(message)
    const placeholderId = options.placeholderId?.(message) ?? null
    const createdAt = options.createdAt(message)
    const place = find(taskId, id, placeholderId)
    const own = taskId ? placeholderIdOf({ id: taskId, placeholderId }) : (placeholderId ?? id)
    const key = place ? place.id : own
    const submittedAt = place ? place.submittedAt : createdAt
    // A place may have been used again: then its task is another's.
    const task = place && (!taskId || taskId === place.task.id) ? place.task : null
    const outputs = freshest(options.outputs?.(message) ?? [], task)
    const entry: ThreadEntry<M, P> = { kind: 'message', key, submittedAt, outputs, message, task }
    const ranked = { entry, isWaiting: 0, at: Date.parse(submittedAt), age: Date.parse(createdAt), id }
    const other = places.get(key)
    // Of two messages in one place the newer stays.
    if (!other || (other.age - ranked.age || compare(other.id, id)) <= 0) places.set(key, ranked)
  }
  for (const placeholder of placeholders) {
    const { id: key, submittedAt, task } = placeholder
    if (places.has(key)) continue
    const outputs = freshest([], task)
    const entry: ThreadEntry<M, P> = { kind: 'placeholder', key, submittedAt, outputs, placeholder, task }
    const isWaiting = Number(waitsToBeSent(placeholder))
    places.set(key, { entry, isWaiting, at: Date.parse(submittedAt), age: 0, id: key })
  }
  return [...places.values()]
    .sort((a, b) => a.isWaiting - b.isWaiting || a.at - b.at || compare(a.entry.key, b.entry.key))
    .map(({ entry }) => entry)
}

function byEveryName<P extends AnyPlaceholder>(placeholders: readonly P[]) {
  const byTask = new Map<string | null | undefined, P>()
  const byMessage = new Map<string | null, P>()
  const byId = new Map<string | null, P>()
  for (const placeholder of placeholders) {
    const { id, messageId } = placeholder.task
    byTask.set(id, placeholder)
    if (messageId) byMessage.set(messageId, placeholder)
    byId.set(placeholder.id, placeholder)
  }
  return (taskId: string | null | undefined, messageId: string, placeholderId: string | null) =>
    byTask.get(taskId) ?? byMessage.get(messageId) ?? byId.get(placeholderId)
}

/** Its first submit has not reached the server. What was refused never will, and a retry has its place already. */
function waitsToBeSent({ detail, submittedAt, task }: AnyPlaceholder): boolean {
  return detail === 'unsent' && submittedAt === task.createdAt
}

const compare = (a: string, b: string) => (a < b ? -1 : Number(a > b))

/**
 * The task's files: they are signed anew before they end, and know when one has moved to our own store. A message that
 * was fetched later may have newer addresses of the very same files.
 */
function freshest(
  fetched: readonly TaskOutput[],
  task: AnyPlaceholder['task'] | null,
): readonly TaskOutput[] {
  const known = outputsOf(task?.result)
  if (known.length === 0) return fetched
  const isSame =
    known.length === fetched.length && known.every(({ state }, index) => state === fetched[index]?.state)
  const endOf = (outputs: readonly TaskOutput[]) => addressesEnd({ result: { outputs: [...outputs] } })
  return isSame && endOf(fetched) > endOf(known) ? fetched : known
}

/** An app's own types may know of no files. */
function outputsOf(result: unknown): readonly TaskOutput[] {
  return (result as { outputs?: TaskOutput[] } | null | undefined)?.outputs ?? []
}
