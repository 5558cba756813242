import type { Conversation, ConversationList } from '@holdfast/shared'
import { describe, expect, it } from 'vitest'
import { createFeedConversations, type FeedConversations } from './feed-conversations.ts'

const state = (id: string, version: number, unread = 0): Conversation => ({
  id,
  title: 'foxes',
  unread,
  lastMessageAt: null,
  createdAt: '2026-01-01T00:00:00.000Z',
  version,
})
const list = (unreadConversations: number, ...conversations: Conversation[]) => ({
  conversations,
  unreadConversations,
})

function read(feed: FeedConversations, seq: number): ConversationList | null {
  const chunk = feed.after(seq)
  if (!chunk) return null
  const text = new TextDecoder().decode(chunk.bytes)
  // Without an id: a client that resumes goes on from the last task.
  const [, data] = /^event: conversations\ndata: (.*)\n\n$/.exec(text) ?? []
  return JSON.parse(data ?? '')
}

describe('the conversations of a feed', () => {
  it('are told to each stream in their newest state', () => {
    const feed = createFeedConversations()
    feed.begin(list(0, state('a', 1)))
    const joined = feed.seq
    feed.absorb(list(0))
    expect(read(feed, joined)).toBeNull()
    feed.absorb(list(1, state('a', 2, 1), state('b', 1)))
    const between = feed.seq
    feed.absorb(list(0, state('a', 3)))
    expect(read(feed, joined)).toEqual(list(0, state('a', 3), state('b', 1)))
    expect(read(feed, between)).toEqual(list(0, state('a', 3)))
  })

  it('are told once, though a cursor that stands still brings them again and again', () => {
    const feed = createFeedConversations()
    feed.absorb(list(1, state('a', 2, 1)))
    const told = feed.seq
    feed.trim(told)
    feed.absorb(list(1, state('a', 2, 1)))
    expect(read(feed, told)).toBeNull()
    feed.absorb(list(1, state('a', 1)))
    expect(read(feed, told)).toBeNull()
  })

  it('a count that changes by itself is told', () => {
    const feed = createFeedConversations()
    feed.absorb(list(2))
    const told = feed.seq
    feed.absorb(list(1))
    expect(read(feed, told)).toEqual(list(1))
  })

  it('stay for a slow stream after the fast ones were told', () => {
    const feed = createFeedConversations()
    feed.absorb(list(0))
    const slow = feed.seq
    feed.absorb(list(1, state('a', 1, 1)))
    feed.trim(slow)
    feed.absorb(list(1, state('b', 1)))
    expect(read(feed, slow)).toEqual(list(1, state('a', 1, 1), state('b', 1)))
  })
})
