import { HoldfastError } from '@holdfast/client'
import { useSubmitTask } from '@holdfast/client/react'
import { useState } from 'react'
import { useConversations } from '../conversations/conversations-context.ts'
import type { Route } from '../route/route.ts'
import { navigate } from '../route/use-route.ts'
import { conversationTitle } from './conversation-title.ts'
import type { GenerationType } from './generation-types.ts'

export interface StartGeneration {
  /** Whether the server has it. */
  start(prompt: string, type: GenerationType): Promise<boolean>
  isStarting: boolean
  error: string | null
}

/** Starts a generation where the visitor is; in an empty conversation, the conversation comes first. */
export function useStartGeneration(route: Route): StartGeneration {
  const { create } = useConversations()
  const { submit } = useSubmitTask()
  const [isStarting, setStarting] = useState(false)
  const [error, setError] = useState<string | null>(null)

  async function start(prompt: string, type: GenerationType): Promise<boolean> {
    setStarting(true)
    setError(null)
    let opened: string | undefined
    try {
      if (route.at === 'new' || route.at === 'start') opened = (await create(conversationTitle(prompt))).id
      const conversationId = route.at === 'conversation' ? route.conversationId : opened
      await submit({ type, params: { prompt }, conversationId })
      return true
    } catch (cause) {
      setError(textOf(cause))
      return false
    } finally {
      setStarting(false)
      // Also when only the submit failed: the next try then goes into the same conversation.
      if (opened) navigate({ at: 'conversation', conversationId: opened })
    }
  }

  return { start, isStarting, error }
}

function textOf(cause: unknown): string {
  if (cause instanceof HoldfastError && cause.code === 'NETWORK') {
    return 'The server does not answer, so this was not started. Your prompt is still here: try again in a moment.'
  }
  return cause instanceof Error ? cause.message : 'This could not be started. Try again in a moment.'
}
