import type { Conversation } from '@holdfast/shared'

export type ConversationMap = Readonly<Record<string, Conversation>>

/** As with tasks: of two states the higher version stays, so order and repetitions do not matter. */
export function mergeConversations(
  held: ConversationMap,
  incoming: readonly Conversation[],
): ConversationMap {
  let merged = held as Record<string, Conversation>
  for (const conversation of incoming) {
    const { id, version } = conversation
    if ((merged[id]?.version ?? 0) >= version) continue
    if (merged === held) merged = { ...held }
    merged[id] = conversation
  }
  return merged
}
