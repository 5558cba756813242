import { useSubmitTask } from '@holdfast/client/react'
import { useState } from 'react'
import type { Route } from '../route/route.ts'
import { navigate } from '../route/use-route.ts'
import { conversationTitle } from './conversation-title.ts'
import type { GenerationType } from './generation-types.ts'

export interface StartGeneration {
  /** Whether it is written down: from then on it is sent by itself, now or when the server answers. */
  start(prompt: string, type: GenerationType): Promise<boolean>
  isStarting: boolean
  error: string | null
}

/** Starts a generation where the visitor is; elsewhere than in a conversation it brings a new one along. */
export function useStartGeneration(route: Route): StartGeneration {
  const { submit, isSubmitting } = useSubmitTask()
  const [error, setError] = useState<string | null>(null)

  async function start(prompt: string, type: GenerationType): Promise<boolean> {
    setError(null)
    // Also of the conversation, if there is to be one: the card has its address before it is sent.
    const id = crypto.randomUUID()
    const isFirst = route.at === 'new' || route.at === 'start'
    try {
      await submit({
        type,
        params: { prompt },
        idempotencyKey: id,
        ...(isFirst ? { conversation: { id, title: conversationTitle(prompt) } } : {}),
        ...(route.at === 'conversation' ? { conversationId: route.conversationId } : {}),
      })
    } catch (cause) {
      setError(cause instanceof Error ? cause.message : 'This could not be started. Try again in a moment.')
      return false
    }
    if (isFirst) navigate({ at: 'conversation', conversationId: id })
    return true
  }

  return { start, isStarting: isSubmitting, error }
}
