import type { Conversation } from '@holdfast/shared'
import { expect, test } from 'vitest'
import { trackedTask } from '../testing/tracked-task.ts'
import { conversationRows } from './conversation-rows.ts'

const aConversation = (id: string, more: Partial<Conversation> = {}): Conversation => ({
  id,
  title: `About ${id}`,
  unread: 1,
  lastMessageAt: null,
  createdAt: '2026-05-12T12:00:00.000Z',
  version: 1,
  ...more,
})

test('the one with the newest activity comes first, and each counts its unfinished tasks', () => {
  const rows = conversationRows(
    [aConversation('a'), aConversation('b', { lastMessageAt: '2026-05-12T12:00:05.000Z' })],
    [
      trackedTask({ id: '1' }),
      trackedTask({ id: '2', status: 'pending' }),
      trackedTask({ id: '3', status: 'failed' }),
    ],
  )
  expect(rows.map(({ id, working }) => [id, working])).toEqual([
    ['b', 0],
    ['a', 2],
  ])
})

test('F2: with the server away, the tasks of the local copy still make their conversations reachable', () => {
  const rows = conversationRows(
    [],
    [
      trackedTask({ id: '2', createdAt: '2026-05-12T12:00:09.000Z', params: { prompt: 'A second one' } }),
      trackedTask({ id: '1' }),
      trackedTask({ id: '3', conversationId: null }),
    ],
  )
  expect(rows).toEqual([
    { id: 'a', title: 'A lighthouse', unread: 0, working: 2, lastActivityAt: '2026-05-12T12:00:01.000Z' },
  ])
})

test('what waits to be sent makes its conversation reachable before the server knows of it', () => {
  const unsent = trackedTask({ id: '1', conversationId: 'new', status: 'pending', unsent: true })
  expect(conversationRows([aConversation('a')], [unsent]).map(({ id, working }) => [id, working])).toEqual([
    ['new', 1],
    ['a', 0],
  ])
  expect(conversationRows([aConversation('new')], [unsent])).toHaveLength(1)
})
