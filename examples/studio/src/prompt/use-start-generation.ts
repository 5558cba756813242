import { HoldfastError } from '@holdfast/client'
import { useSubmitTask } from '@holdfast/client/react'
import { useRef, useState } from 'react'
import { useConversations } from '../conversations/conversations-context.ts'
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

/** Starts a generation where the visitor is; in an empty conversation, the conversation comes first. */
export function useStartGeneration(route: Route): StartGeneration {
  const { create } = useConversations()
  const { submit } = useSubmitTask()
  const [isStarting, setStarting] = useState(false)
  const [error, setError] = useState<string | null>(null)
  const draft = useRef<Draft | null>(null)

  async function start(prompt: string, type: GenerationType): Promise<boolean> {
    setStarting(true)
    setError(null)
    // The same wish again, after an answer that got lost, goes under the same ids: it is then not made twice.
    if (draft.current?.prompt !== prompt || draft.current.type !== type)
      draft.current = newDraft(prompt, type)
    const { id } = draft.current
    let opened: string | undefined
    try {
      if (route.at === 'new' || route.at === 'start') {
        opened = (await create({ id, title: conversationTitle(prompt) })).id
      }
      const conversationId =
        draft.current.conversationId ?? (route.at === 'conversation' ? route.conversationId : opened)
      draft.current.conversationId = conversationId
      await submit({ type, params: { prompt }, conversationId, placeholderId: id, idempotencyKey: id })
      draft.current = null
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

interface Draft {
  /** For the placeholder, the idempotency key and, if it opens one, the conversation. */
  id: string
  prompt: string
  type: GenerationType
  conversationId?: string
}

function newDraft(prompt: string, type: GenerationType): Draft {
  return { id: crypto.randomUUID(), prompt, type }
}

function textOf(cause: unknown): string {
  if (cause instanceof HoldfastError && cause.code === 'NETWORK') {
    return 'The server does not answer, so we cannot tell whether this was started. Your prompt is still here: send it again, it will not be made twice.'
  }
  return cause instanceof Error ? cause.message : 'This could not be started. Try again in a moment.'
}
