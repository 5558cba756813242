import type { Conversation, ConversationList } from '@holdfast/shared'
import type { Chunk } from './feed-entries.ts'

/**
 * What a user's streams are told of conversations: the newest state of each that changed, and how many of all are unread.
 * As with tasks, a stream is only a number, the last change that it has been sent.
 *
 * The event has no id. A stream sends conversations before tasks, so the id of a task's event never goes past a
 * conversation that the stream has not sent. A client that resumes gets some of them again.
 */
export interface FeedConversations {
  /** How many changes there were. */
  readonly seq: number
  /** What the first stream begins with. Not remembered: it is hundreds of rows for a user, and few ever change. */
  begin(read: Partial<ConversationList>): void
  /** Takes in what changed, if it is news. Reads come in their order, so the last count is the right one. */
  absorb(read: Partial<ConversationList>): void
  /** The event after a change; null if there is none. */
  after(seq: number): Chunk | null
  /** All streams have this change. */
  trim(seq: number): void
}

const encoder = new TextEncoder()
/** Twice what one read brings: while a long transaction holds the cursor back, each look brings the same again. */
const MOST_REMEMBERED = 2_000

export function createFeedConversations(): FeedConversations {
  const versions = new Map<string, number>()
  const untold = new Map<string, { conversation: Conversation; seq: number }>()
  let unread = 0
  let seq = 0

  return {
    get seq() {
      return seq
    },
    begin({ unreadConversations = 0 }) {
      unread = unreadConversations
    },
    // Without anything: this server keeps none.
    absorb({ conversations = [], unreadConversations = unread }) {
      const newer = conversations.filter(({ id, version }) => version > (versions.get(id) ?? 0))
      if (newer.length === 0 && unreadConversations === unread) return
      seq += 1
      unread = unreadConversations
      for (const conversation of newer) {
        const { id, version } = conversation
        versions.delete(id)
        versions.set(id, version)
        untold.set(id, { conversation, seq })
      }
      for (const id of versions.keys()) {
        if (versions.size <= MOST_REMEMBERED) break
        versions.delete(id)
      }
    },
    after(from) {
      if (from >= seq) return null
      const news: ConversationList = {
        conversations: [...untold.values()]
          .filter((entry) => entry.seq > from)
          .map(({ conversation }) => conversation),
        unreadConversations: unread,
      }
      return { bytes: encoder.encode(`event: conversations\ndata: ${JSON.stringify(news)}\n\n`), seq }
    },
    trim(until) {
      for (const [id, entry] of untold) if (entry.seq <= until) untold.delete(id)
    },
  }
}
