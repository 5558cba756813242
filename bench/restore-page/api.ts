import type { SyncAnswer, Task } from '@holdfast/shared'
import { type Card, userId } from './cards.tsx'

const headers = { Authorization: `Bearer ${userId}`, 'Content-Type': 'application/json' }

/** Everything that runs, in one request; of what is known already only what has changed. */
export async function sync(known: Record<string, [number, number | null]>): Promise<SyncAnswer> {
  const answer = await fetch('/v1/sync', { method: 'POST', headers, body: JSON.stringify({ known }) })
  return answer.json() as Promise<SyncAnswer>
}

export async function fetchTask(id: string): Promise<Task> {
  const answer = await fetch(`/v1/tasks/${id}`, { headers, cache: 'no-store' })
  return ((await answer.json()) as { task: Task }).task
}

export function toCard({ id, status, params, progress }: Task): Card {
  return { id, status, prompt: String(params.prompt), progress }
}
