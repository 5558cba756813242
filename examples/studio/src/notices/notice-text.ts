import { isTerminal, type Task } from '@holdfast/shared'
import { typeLabel } from '../prompt/generation-types.ts'
import { promptOf } from '../prompt/prompt-of.ts'

const LONGEST = 80

/** What to say when a task has ended; null while it has not. */
export function settledText(task: Pick<Task, 'type' | 'status' | 'params' | 'failure'>): string | null {
  if (!isTerminal(task.status)) return null
  const type = typeLabel(task.type)
  const prompt = promptOf(task.params)
  const name = prompt.length > LONGEST ? `${prompt.slice(0, LONGEST)}…` : prompt
  if (task.status === 'completed') return `${type} ready: ${name}`
  if (task.status === 'cancelled') return `${type} cancelled: ${name}`
  return `${type} failed: ${name}. ${task.failure?.message ?? ''}`.trim()
}

/** What to say after a restore (C8); null when nothing was under way. */
export function restoredText(tasks: readonly Pick<Task, 'status'>[]): string | null {
  const count = tasks.filter((task) => !isTerminal(task.status)).length
  if (count === 0) return null
  return `${count} ${count === 1 ? 'generation' : 'generations'} restored`
}
