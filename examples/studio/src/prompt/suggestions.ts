import type { GenerationType } from './generation-types.ts'

export interface Suggestion {
  type: GenerationType
  prompt: string
}

/** A first step for a visitor who has nothing in mind yet. */
export const SUGGESTIONS: readonly Suggestion[] = [
  { type: 'image', prompt: 'A lighthouse above the fog, ink and watercolour' },
  { type: 'image', prompt: 'Tidal pool at dusk, macro photograph' },
  { type: 'video', prompt: 'Kelp forest swaying, sunlight from above' },
]
