import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { trackedTask } from '../../test/tracked-task.ts'
import { createMessageListAdapter } from './message-list.ts'

interface ChatMessage {
  id: string
  taskId: string | null
  placeholderId: string | null
  at: string
}

const merge = createMessageListAdapter<ChatMessage>({
  id: (message) => message.id,
  taskId: (message) => message.taskId,
  placeholderId: (message) => message.placeholderId,
  createdAt: (message) => message.at,
})
const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString()
const now = Date.parse(at(59))
const message = (given: Partial<ChatMessage> & { id: string }): ChatMessage => ({
  taskId: null,
  placeholderId: null,
  at: at(0),
  ...given,
})
const outline = (entries: ReturnType<typeof merge>) => entries.map(({ kind, key }) => `${kind} ${key}`)

describe('the message list', () => {
  it('F7: puts placeholders among the messages by time, and the message in place of its own', () => {
    const messages = [message({ id: 'm1', at: at(1) }), message({ id: 'm2', taskId: 't', at: at(40) })]
    const running = trackedTask({ id: 'u', createdAt: at(20) })
    const done = trackedTask({ id: 't', status: 'completed', createdAt: at(10) })
    expect(outline(merge(messages, [running], now))).toEqual([
      'message m1',
      'placeholder placeholder-u',
      'message placeholder-t',
    ])
    expect(outline(merge(messages, [running, done], now))).toEqual([
      'message m1',
      'message placeholder-t',
      'placeholder placeholder-u',
    ])
  })

  const ids = fc.constantFrom('a', 'b', 'c', 'd')
  const worlds = fc.record({
    messages: fc.array(
      fc.record({
        id: fc.constantFrom('m1', 'm2', 'm3', 'm4'),
        taskId: fc.option(ids),
        placeholderId: fc.option(fc.constantFrom('p', 'q')),
        at: fc.nat({ max: 50 }).map(at),
      }),
      { maxLength: 6 },
    ),
    tasks: fc.uniqueArray(
      fc.record({
        id: ids,
        status: fc.constantFrom(
          'pending' as const,
          'running' as const,
          'completed' as const,
          'failed' as const,
        ),
        placeholderId: fc.option(fc.constantFrom('p', 'q')),
        messageId: fc.option(fc.constantFrom('m1', 'm2')),
        createdAt: fc.nat({ max: 50 }).map(at),
      }),
      { selector: ({ id }) => id },
    ),
  })

  it('F7: no key twice, no placeholder beside its message, nothing lost, whatever there is', () => {
    fc.assert(
      fc.property(worlds, ({ messages, tasks }) => {
        const entries = merge(messages, tasks.map(trackedTask), now)
        const keys = entries.map(({ key }) => key)
        expect(new Set(keys).size).toBe(keys.length)
        const saved = new Set<string | null>(messages.map(({ taskId }) => taskId))
        for (const entry of entries) {
          if (entry.kind === 'placeholder') expect(saved.has(entry.placeholder.taskId)).toBe(false)
        }
        const shown = new Set(keys)
        for (const { id, placeholderId } of tasks) {
          const own = placeholderId ?? `placeholder-${id}`
          const byMessage = entries.some(({ kind, key }) => kind === 'message' && key === own)
          expect(shown.has(own) || byMessage).toBe(true)
        }
      }),
      { numRuns: 1_000 },
    )
  })
})
