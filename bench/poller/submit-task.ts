import type { Priority } from '@holdfast/shared'
import { SERVICE_KEY } from './replica-settings.ts'

export interface TaskToSubmit {
  /** Decides the lane, too. */
  userId: string
  /** What the provider's log calls it. */
  prompt: string
  /** Only a service key may say it. @default as a user's own browser submits it */
  priority?: Priority
}

/** Submits one over HTTP and returns when the server has taken it on. */
export async function submitTask(url: string, { userId, prompt, priority }: TaskToSubmit): Promise<void> {
  const body = { type: 'image', params: { prompt } }
  const response = await fetch(`${url}/v1/tasks`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${priority ? SERVICE_KEY : userId}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify(priority ? { ...body, userId, priority } : body),
  })
  const text = await response.text()
  if (response.status !== 201) throw new Error(`A submit was answered with ${response.status}: ${text}`)
}
