import type { Conversation } from '@holdfast/shared'
import { expect, test } from 'vitest'
import { trackedTask } from '../testing/tracked-task.ts'
import { conversationRows } from './conversation-rows.ts'

const aConversation = (id: string): Conversation => ({
  id,
  title: `About ${id}`,
  unread: 1,
  lastMessageAt: null,
  createdAt: '2026-05-12T12:00:00.000Z',
})

test('each conversation counts its unfinished tasks', () => {
  const rows = conversationRows(
    [aConversation('b'), aConversation('a')],
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
  const rows = conversationRows(null, [
    trackedTask({ id: '2', createdAt: '2026-05-12T12:00:09.000Z', params: { prompt: 'A second one' } }),
    trackedTask({ id: '1' }),
    trackedTask({ id: '3', conversationId: null }),
  ])
  expect(rows).toEqual([
    { id: 'a', title: 'A lighthouse', unread: 0, working: 2, lastActivityAt: '2026-05-12T12:00:01.000Z' },
  ])
})
