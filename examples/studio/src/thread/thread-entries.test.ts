import type { Placeholder, TrackedTask } from '@holdfast/client'
import { type Message, placeholderIdOf } from '@holdfast/shared'
import { expect, test } from 'vitest'
import { trackedTask } from '../testing/tracked-task.ts'
import { threadEntries } from './thread-entries.ts'

const at = (second: number) => new Date(Date.UTC(2026, 4, 12, 12, 0, second)).toISOString()

const aTask = (id: string, second: number, changes: Partial<TrackedTask> = {}) =>
  trackedTask({ id, createdAt: at(second), startedAt: at(second), ...changes })

function placeholderOf(task: TrackedTask, id = placeholderIdOf(task)): Placeholder {
  return {
    id,
    taskId: task.id,
    origin: task.origin,
    stale: task.stale,
    startedAt: task.startedAt ?? task.createdAt,
    state: task.status === 'completed' ? 'done' : 'working',
    detail: task.status === 'completed' ? 'done' : 'working',
    progress: task.progress,
    failure: task.failure,
    task,
  }
}

function aMessage(id: string, second: number, changes: Partial<Message> = {}): Message {
  return {
    id,
    conversationId: 'c',
    role: 'assistant',
    content: '',
    taskId: null,
    placeholderId: null,
    taskType: 'image',
    outputs: [],
    params: {},
    creditsSpent: 0,
    createdAt: at(second),
    ...changes,
  }
}

function entriesOf(
  messages: Message[] | null,
  tasks: TrackedTask[],
  placeholders = tasks.map((t) => placeholderOf(t)),
) {
  return threadEntries({ messages, placeholders, tasks })
}

const outline = (entries: ReturnType<typeof threadEntries>) =>
  entries.map((entry) => `${entry.kind} ${entry.key}`)

test('unfinished tasks stand between messages, by time', () => {
  const entries = entriesOf([aMessage('m1', 1), aMessage('m3', 30)], [aTask('t2', 10), aTask('t4', 40)])
  expect(outline(entries)).toEqual(['message m1', 'task placeholder-t2', 'message m3', 'task placeholder-t4'])
})

test('a finished task shows its own result until its message has been fetched', () => {
  const done = aTask('t', 1, { status: 'completed', messageId: 'm' })
  expect(outline(entriesOf(null, [done]))).toEqual(['task placeholder-t'])
  expect(outline(entriesOf([], [done]))).toEqual(['task placeholder-t'])
})

test.each<[string, Partial<TrackedTask>, Partial<Message>]>([
  ['the task it names', {}, { taskId: 't' }],
  ['the id the task names', { messageId: 'm' }, {}],
  ['the placeholder id they share', { placeholderId: 'p' }, { placeholderId: 'p' }],
])('F7: the message takes its placeholder’s place, found by %s', (_, taskChanges, messageChanges) => {
  const earlier = aTask('t', 1, { status: 'completed', ...taskChanges })
  const later = aTask('u', 2)
  const entries = entriesOf([aMessage('m', 50, messageChanges)], [earlier, later])
  expect(outline(entries)).toEqual([`message ${placeholderIdOf(earlier)}`, 'task placeholder-u'])
})

test('a message keeps its key when its task is known here and when it is not', () => {
  const message = aMessage('m', 5, { taskId: 't', placeholderId: 'p' })
  const task = aTask('t', 1, { status: 'completed', placeholderId: 'p', messageId: 'm' })
  expect(entriesOf([message], [])[0]?.key).toBe('p')
  expect(entriesOf([message], [task])[0]?.key).toBe('p')
})

test('F9: a retry takes over the place of the task that it repeats', () => {
  const failed = aTask('t1', 1, { status: 'failed', placeholderId: 'p' })
  const other = aTask('t2', 2)
  const retry = aTask('t3', 60, { retryOf: 't1', placeholderId: 'p' })
  const entries = entriesOf([], [failed, other, retry], [placeholderOf(other), placeholderOf(retry, 'p')])
  expect(outline(entries)).toEqual(['task p', 'task placeholder-t2'])
})

test('a chain of retries that bites its own tail ends', () => {
  const a = aTask('a', 1, { retryOf: 'b' })
  const b = aTask('b', 2, { retryOf: 'a' })
  expect(entriesOf([], [a, b])).toHaveLength(2)
})

test('the same message twice is one entry', () => {
  const message = aMessage('m', 5, { taskId: 't' })
  expect(entriesOf([message, message], [])).toHaveLength(1)
})
