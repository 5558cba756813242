import { isNewer, nameChange, type StreamEvents, type Task } from '@holdfast/shared'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createFeedEntries, type FeedEntries } from './feed-entries.ts'

function made(id: string, changes: Partial<Task> = {}): Task {
  return {
    id,
    type: 'image',
    provider: 'p',
    status: 'running',
    progress: null,
    queuePosition: null,
    params: { prompt: 'a fox' },
    result: null,
    failure: null,
    conversationId: null,
    placeholderId: null,
    messageId: null,
    saveState: 'none',
    parentId: null,
    retryOf: null,
    credits: { held: 0, spent: 0, returned: 0 },
    estimatedAt: null,
    lane: 'free_default',
    priority: 5,
    metadata: {},
    attempts: 0,
    lastError: null,
    nextAttemptAt: null,
    version: 1,
    createdAt: '2026-01-01T00:00:00.000Z',
    startedAt: '2026-01-01T00:00:01.000Z',
    finishedAt: null,
    deadlineAt: null,
    updatedAt: '2026-01-01T00:00:01.000Z',
    ...changes,
  }
}

interface Received extends Pick<StreamEvents, 'task'> {
  id: string
}

const decoder = new TextDecoder()
function read(entries: FeedEntries, seq: number, cursor = '9'): { events: Received[]; seq: number } {
  const chunk = entries.after(seq, cursor)
  if (!chunk) return { events: [], seq }
  const blocks = decoder.decode(chunk.bytes).split('\n\n').slice(0, -1)
  const events = blocks.map((block) => {
    const lines = block.split('\n')
    const field = (name: string) => lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2)
    return { task: JSON.parse(field('data') ?? ''), id: field('id') ?? '' }
  })
  return { events, seq: chunk.seq }
}

describe('the entries of a feed', () => {
  it('give each reader what it has not had, in the order of the changes, with a cursor that loses nothing', () => {
    const entries = createFeedEntries()
    entries.absorb([made('a'), made('b')], '1')
    const start = entries.seq
    entries.absorb([made('a', { version: 2, status: 'completed', progress: 100 })], '5')
    entries.absorb([made('c', { status: 'pending' })], '7')
    const { events, seq } = read(entries, start, '8')
    expect(events.map(({ task, id }) => [task.task.id, task.change, id])).toEqual([
      ['a', 'completed', '7'],
      ['c', 'submitted', '8'],
    ])
    expect(read(entries, seq).events).toEqual([])
  })

  it('make the bytes for all readers at the same place once', () => {
    const entries = createFeedEntries()
    entries.absorb([made('a')], '1')
    expect(entries.after(0, '2')?.bytes).toBe(entries.after(0, '2')?.bytes)
  })

  it('Q3: say nothing of progress that was shown and has now been written down', () => {
    const entries = createFeedEntries()
    entries.absorb([made('a')], '1')
    entries.raise(new Map([['a', 40]]), '1')
    const before = entries.seq
    entries.absorb([made('a', { version: 2, progress: 40, updatedAt: 'later', estimatedAt: 'soon' })], '2')
    expect(entries.seq).toBe(before)
    entries.raise(new Map([['a', 50]]), '2')
    // But the next event carries the version that was written.
    expect(read(entries, before).events).toMatchObject([
      { task: { task: { version: 2, progress: 50, estimatedAt: 'soon' }, change: 'progress' } },
    ])
  })

  it('never go back when the hot store has lost what was shown', () => {
    const entries = createFeedEntries()
    entries.absorb([made('a')], '1')
    entries.raise(new Map([['a', 60]]), '1')
    entries.absorb([made('a', { version: 2, progress: 40, metadata: { seen: true } })], '2')
    expect(read(entries, 0).events.at(-1)).toMatchObject({ task: { task: { version: 2, progress: 60 } } })
    expect(entries.newest(made('a', { version: 2, progress: 40 }))).toMatchObject({ progress: 60 })
    // Unless it has begun anew.
    entries.absorb([made('a', { version: 4, progress: 5, startedAt: 'anew' })], '3')
    expect(read(entries, 0).events.at(-1)).toMatchObject({ task: { task: { version: 4, progress: 5 } } })
  })

  it('hand out large news in pieces', () => {
    const entries = createFeedEntries()
    const params = { prompt: 'x'.repeat(20_000) }
    entries.absorb(
      Array.from({ length: 10 }, (_, n) => made(`t${n}`, { params })),
      '1',
    )
    const ids: string[] = []
    let seq = 0
    for (let piece = read(entries, seq); piece.events.length > 0; piece = read(entries, seq)) {
      expect(piece.events.length).toBeLessThan(6)
      ids.push(...piece.events.map(({ task }) => task.task.id))
      seq = piece.seq
    }
    expect(ids).toEqual(Array.from({ length: 10 }, (_, n) => `t${n}`))
  })

  const steps = fc.array(
    fc.oneof(
      fc.record({ kind: fc.constant('write' as const), task: fc.nat(3), progress: fc.nat(99) }),
      fc.record({ kind: fc.constant('end' as const), task: fc.nat(3) }),
      fc.record({ kind: fc.constant('heat' as const), task: fc.nat(3), progress: fc.nat(99) }),
      fc.record({ kind: fc.constant('note' as const), task: fc.nat(3) }),
      fc.record({ kind: fc.constant('read' as const), reader: fc.nat(2) }),
    ),
    { maxLength: 60 },
  )

  it('every reader, however slow, ends with the newest state, never sees one go back, and is told the right name', () => {
    fc.assert(
      fc.property(steps, (schedule) => {
        const entries = createFeedEntries()
        const truth = new Map(
          Array.from({ length: 4 }, (_, n) => [`t${n}`, made(`t${n}`, { status: 'pending' })]),
        )
        entries.absorb([...truth.values()], '0')
        const readers = Array.from({ length: 3 }, () => ({ seq: entries.seq, seen: new Map(truth) }))
        let xid = 0

        function take(reader: (typeof readers)[number]): void {
          const { events, seq } = read(entries, reader.seq, String(xid))
          reader.seq = seq
          for (const {
            task: { task, change },
          } of events) {
            const before = reader.seen.get(task.id)
            expect(isNewer(task, before)).toBe(true)
            expect(change).toBe(nameChange(before, task))
            if (before?.status === 'running' && task.status === 'running')
              expect(task.progress ?? -1).toBeGreaterThanOrEqual(before.progress ?? -1)
            reader.seen.set(task.id, task)
          }
          entries.trim(Math.min(...readers.map((each) => each.seq)))
        }

        for (const step of schedule) {
          xid += 1
          if (step.kind === 'read') {
            take(readers[step.reader] as (typeof readers)[number])
            continue
          }
          const task = truth.get(`t${step.task}`) as Task
          const hasEnded = task.status === 'completed'
          if (step.kind === 'note') {
            truth.set(task.id, { ...task, version: task.version + 1, metadata: { at: xid } })
          } else if (hasEnded) continue
          else if (step.kind === 'heat') {
            if (task.status !== 'running') continue
            entries.raise(new Map([[task.id, step.progress]]), String(xid))
            const raised = Math.max(task.progress ?? -1, step.progress)
            truth.set(task.id, { ...task, progress: raised })
            continue
          } else if (step.kind === 'end') {
            truth.set(task.id, { ...task, version: task.version + 1, status: 'completed', progress: 100 })
          } else {
            const progress = task.status === 'running' ? Math.max(task.progress ?? 0, step.progress) : null
            truth.set(task.id, { ...task, version: task.version + 1, status: 'running', progress })
          }
          entries.absorb([truth.get(task.id) as Task], String(xid))
        }
        for (const reader of readers) {
          for (let before = -1; before !== reader.seq; ) {
            before = reader.seq
            take(reader)
          }
          for (const [id, task] of truth) {
            expect(reader.seen.get(id)).toMatchObject({ status: task.status, progress: task.progress })
          }
        }
      }),
      { numRuns: 300 },
    )
  })
})
