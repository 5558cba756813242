import { createContext, use } from 'react'
import type { GenerationType } from './generation-types.ts'
import type { Suggestion } from './suggestions.ts'

/** What is in the prompt box: shared, since suggestions elsewhere on the page fill it. */
export interface PromptDraft {
  prompt: string
  type: GenerationType
  setPrompt(prompt: string): void
  setType(type: GenerationType): void
  /** Fills the box and puts the cursor there. */
  suggest(suggestion: Suggestion): void
}

export const PromptDraftContext = createContext<PromptDraft | null>(null)

export function usePromptDraft(): PromptDraft {
  const draft = use(PromptDraftContext)
  if (!draft) throw new Error('usePromptDraft needs a PromptDraftContext above it.')
  return draft
}
