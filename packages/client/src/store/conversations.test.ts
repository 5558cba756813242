import type { Conversation } from '@holdfast/shared'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createTaskStore } from './task-store.ts'

const conversation = (id: string, version: number, unread = 0): Conversation => ({
  id,
  title: `${id} ${version}`,
  unread,
  lastMessageAt: null,
  createdAt: '2026-01-01T00:00:00.000Z',
  version,
})
const unreadOf = (store: ReturnType<typeof createTaskStore>) => store.getState().unreadConversations

/** The server never shows one version with two contents. */
const states = fc
  .record({ id: fc.constantFrom('a', 'b', 'c'), version: fc.integer({ min: 1, max: 5 }) })
  .map(({ id, version }) => conversation(id, version, version % 2))

describe('conversations in the store', () => {
  it('end the same whatever the order, the grouping and the repetitions, and so does the badge', () => {
    const deliveries = fc.array(states, { maxLength: 12 }).chain((all) =>
      fc.record({
        straight: fc.constant(all),
        shuffled: fc
          .tuple(fc.shuffledSubarray(all, { minLength: all.length, maxLength: all.length }), fc.subarray(all))
          .map(([once, again]) => [...once, ...again]),
      }),
    )
    fc.assert(
      fc.property(deliveries, fc.integer({ min: 0, max: 9 }), ({ straight, shuffled }, late) => {
        const [one, other] = [createTaskStore(), createTaskStore()]
        for (const store of [one, other])
          store.applyConversations({ conversations: [], unreadConversations: 0 }, true)
        one.applyConversations({ conversations: straight, unreadConversations: 0 })
        for (const state of shuffled) {
          // Totals arrive in any order, too.
          other.applyConversations({ conversations: [state], unreadConversations: late })
        }
        const { conversations, unreadConversations } = other.getState()
        expect({ conversations, unreadConversations }).toEqual({
          conversations: one.getState().conversations,
          unreadConversations: Object.values(conversations).filter(({ unread }) => unread > 0).length,
        })
      }),
      { numRuns: 300 },
    )
  })

  it('say how many are unread only once it is known', () => {
    const store = createTaskStore()
    store.applyConversations({ conversations: [conversation('a', 1, 1)] })
    expect(unreadOf(store)).toBeNull()
    store.applyConversations({}, true)
    expect(unreadOf(store)).toBeNull()
    store.applyConversations({ conversations: [conversation('a', 1, 1)], unreadConversations: 1 }, true)
    expect(unreadOf(store)).toBe(1)
  })

  it('a full answer that is older than what was read since brings no badge back', () => {
    const store = createTaskStore()
    const late = { conversations: [conversation('a', 2, 1)], unreadConversations: 1 }
    store.applyConversations(late, true)
    store.applyConversations({ conversations: [conversation('a', 3)] })
    expect(unreadOf(store)).toBe(0)
    store.applyConversations(late, true)
    expect(unreadOf(store)).toBe(0)
  })

  it('counts those that are beyond the limit of an answer, too', () => {
    const store = createTaskStore()
    store.applyConversations({ conversations: [conversation('a', 1, 1)], unreadConversations: 3 }, true)
    expect(unreadOf(store)).toBe(3)
    store.applyConversations({ conversations: [conversation('a', 2)] })
    expect(unreadOf(store)).toBe(2)
    // One that was not held has been read.
    store.applyConversations({ conversations: [conversation('b', 5)], unreadConversations: 1 })
    expect(unreadOf(store)).toBe(1)
  })

  it('returns what was new, and changes nothing for what was not', () => {
    const store = createTaskStore()
    const first = conversation('a', 2)
    expect(store.applyConversations({ conversations: [first, conversation('a', 1)] })).toEqual([first])
    const before = store.getState()
    expect(store.applyConversations({ conversations: [conversation('a', 2)] })).toEqual([])
    expect(store.getState()).toBe(before)
  })

  it('are gone with their user', () => {
    const store = createTaskStore()
    store.applyConversations({ conversations: [conversation('a', 1, 1)], unreadConversations: 1 }, true)
    store.reset()
    expect(store.getState()).toMatchObject({ conversations: {}, unreadConversations: null })
    store.applyConversations({ conversations: [conversation('b', 1, 1)] })
    expect(unreadOf(store)).toBeNull()
  })
})
