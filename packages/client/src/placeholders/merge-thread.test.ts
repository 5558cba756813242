import type { Message, TaskOutput } from '@holdfast/shared'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { trackedTask } from '../../test/tracked-task.ts'
import type { TrackedTask } from '../store/merge-tasks.ts'
import { mergeThread, type ThreadEntry } from './merge-thread.ts'
import { toPlaceholders } from './placeholder.ts'

const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString()
const now = Date.parse(at(3_000))
const task = (id: string, second: number, given: Partial<TrackedTask> = {}) =>
  trackedTask({ id, createdAt: at(second), ...given })
const message = (id: string, second: number, given: Partial<Message> = {}): Message => ({
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
  ...given,
})
const merge = (messages: Message[], tasks: TrackedTask[]) => mergeThread(messages, toPlaceholders(tasks, now))
const outline = (entries: ThreadEntry[]) => entries.map(({ kind, key }) => `${kind} ${key}`)
const output = (given: Partial<TaskOutput>): TaskOutput => ({
  url: null,
  contentType: 'image/png',
  bytes: 1,
  state: 'stored',
  urlExpiresAt: null,
  problem: null,
  expiresAt: null,
  ...given,
})

describe('mergeThread', () => {
  it('puts placeholders among the messages by first submit, also what is not sent yet', () => {
    const tasks = [
      task('t2', 10, { startedAt: at(50) }),
      task('key', 5, { placeholderId: 'card', unsent: true }),
    ]
    expect(outline(merge([message('m1', 1), message('m3', 30)], tasks))).toEqual([
      'message m1',
      'placeholder placeholder-t2',
      'message m3',
      // The server will date it when it arrives there: later than all it has told of.
      'placeholder card',
    ])
  })

  it('what was refused stays where it was submitted', () => {
    const refused = task('key', 5, { placeholderId: 'card', unsent: true, status: 'failed' })
    const failure = { code: 'SUBMIT_REFUSED' as const, message: '', retryable: false }
    expect(outline(merge([message('m', 30)], [{ ...refused, failure }]))).toEqual([
      'placeholder card',
      'message m',
    ])
  })

  it.each<[string, Partial<TrackedTask>, Partial<Message>]>([
    ['the task it names', {}, { taskId: 't' }],
    ['the id that the task names', { messageId: 'm' }, {}],
    ['the placeholder id they share', { placeholderId: 'p' }, { placeholderId: 'p' }],
  ])('the message takes its placeholder’s place and key, found by %s', (_, ofTask, ofMessage) => {
    const done = task('t', 1, { status: 'completed', ...ofTask })
    const before = merge([], [done, task('u', 2)])
    const after = merge([message('m', 50, ofMessage)], [done, task('u', 2)])
    expect(after.map(({ key }) => key)).toEqual(before.map(({ key }) => key))
    expect(after.map(({ kind }) => kind)).toEqual(['message', 'placeholder'])
  })

  it('a message keeps its key when its task is no longer known', () => {
    const saved = message('m', 5, { taskId: 't', placeholderId: 'p' })
    const done = task('t', 1, { status: 'completed', placeholderId: 'p', messageId: 'm' })
    expect(merge([saved], []).map(({ key }) => key)).toEqual(['p'])
    expect(merge([saved], [done]).map(({ key }) => key)).toEqual(['p'])
  })

  it('a retry stays where the task that it repeats was submitted, sent or not', () => {
    const failed = task('t1', 1, { status: 'failed', placeholderId: 'p' })
    const other = task('t2', 2)
    const retry = task('t3', 60, { retryOf: 't1', placeholderId: 'p' })
    for (const repeated of [retry, { ...retry, id: 'key', unsent: true }]) {
      const entries = merge([], [failed, other, repeated])
      expect(outline(entries)).toEqual(['placeholder p', 'placeholder placeholder-t2'])
      expect(entries[0]).toMatchObject({ submittedAt: at(1), task: { id: repeated.id } })
    }
  })

  it('the same message twice is one entry, and of two in one place the newer stays', () => {
    const saved = message('m', 5, { taskId: 't' })
    expect(merge([saved, saved], [])).toHaveLength(1)
    const newer = message('a', 9, { taskId: 'u', placeholderId: 'p' })
    const older = message('z', 5, { taskId: 't', placeholderId: 'p' })
    for (const messages of [
      [older, newer],
      [newer, older],
    ]) {
      expect(merge(messages, [])).toMatchObject([{ message: { id: 'a' } }])
    }
  })

  it('reads an app’s own messages, dated as its database likes', () => {
    interface ChatMessage {
      nr: number
      job?: string
      written: string
    }
    const chat: ChatMessage[] = [
      { nr: 2, job: 't', written: '2026-01-01 00:00:40.123456+00:00' },
      { nr: 1, written: '2026-01-01T00:00:05.5+00:00' },
    ]
    const placeholders = toPlaceholders([task('t', 10, { status: 'completed' }), task('u', 20)], now)
    const entries = mergeThread(chat, placeholders, {
      id: ({ nr }) => `${nr}`,
      taskId: ({ job }) => job,
      createdAt: ({ written }) => written,
    })
    expect(entries.map(({ key }) => key)).toEqual(['1', 'placeholder-t', 'placeholder-u'])
    expect(entries[1]).toMatchObject({ kind: 'message', message: { nr: 2 }, task: { id: 't' }, outputs: [] })
  })
})

describe('the outputs of an entry', () => {
  const vendor = output({ url: 'https://vendor.example/1', state: 'remote', urlExpiresAt: at(60) })
  const signed = (url: string, end: number) => output({ url, urlExpiresAt: at(end) })

  it.each<[string, TaskOutput[] | null, TaskOutput[], string | null]>([
    ['the task’s: its file has been copied since', [signed('ours', 90)], [vendor], 'ours'],
    ['the task’s: its address was renewed', [signed('new', 90)], [signed('old', 30)], 'new'],
    ['the message’s: it was fetched later', [signed('old', 30)], [signed('new', 90)], 'new'],
    ['the message’s: the task has none', null, [signed('saved', 30)], 'saved'],
    ['the task’s: the message has none', [signed('made', 30)], [], 'made'],
    ['the task’s: the file is gone', [output({ state: 'deleted' })], [signed('saved', 30)], null],
  ])('are %s', (_, ofTask, ofMessage, url) => {
    const result = ofTask && { outputs: ofTask }
    const done = task('t', 1, { status: 'completed', result })
    const [entry] = merge([message('m', 5, { taskId: 't', outputs: ofMessage })], [done])
    expect(entry?.outputs.map((file) => file.url)).toEqual([url])
  })

  it('are a finished placeholder’s own until its message is there', () => {
    const done = task('t', 1, { status: 'completed', result: { outputs: [signed('ours', 90)] } })
    expect(merge([], [done])).toMatchObject([{ kind: 'placeholder', outputs: [{ url: 'ours' }] }])
  })

  it('are never those of another task in the same place', () => {
    const again = task('u', 9, { status: 'completed', placeholderId: 'p', result: { outputs: [vendor] } })
    const saved = message('m', 5, { taskId: 't', placeholderId: 'p', outputs: [signed('saved', 90)] })
    expect(merge([saved], [again])).toMatchObject([{ key: 'p', task: null, outputs: [{ url: 'saved' }] }])
  })
})

describe('whatever arrives, in whatever order', () => {
  const ids = fc.constantFrom('a', 'b', 'c', 'd')
  const places = fc.option(fc.constantFrom('p', 'q'))
  const second = fc.nat({ max: 50 })
  const worlds = fc.record({
    messages: fc.uniqueArray(
      fc
        .tuple(fc.constantFrom('m1', 'm2', 'm3', 'm4'), second, fc.option(ids), places)
        .map(([id, when, taskId, placeholderId]) => message(id, when, { taskId, placeholderId })),
      { selector: ({ id }) => id },
    ),
    tasks: fc.uniqueArray(
      fc
        .record({
          id: ids,
          status: fc.constantFrom<TrackedTask['status']>('pending', 'running', 'completed', 'failed'),
          placeholderId: places,
          hasMessage: fc.boolean(),
          createdAt: second.map(at),
          unsent: fc.boolean(),
        })
        // A message is written by one task.
        .map(({ hasMessage, ...given }) =>
          trackedTask({ ...given, messageId: hasMessage ? `m${'abcd'.indexOf(given.id) + 1}` : null }),
        ),
      { selector: ({ id }) => id },
    ),
  })

  it('there is one entry for each place, nothing is lost, and no order of arrival matters', () => {
    fc.assert(
      fc.property(
        worlds.chain(({ messages, tasks }) =>
          fc.record({
            messages: fc.constant(messages),
            shuffled: fc.shuffledSubarray(messages, { minLength: messages.length }),
            placeholders: fc.constant(toPlaceholders(tasks, now)),
          }),
        ),
        ({ messages, shuffled, placeholders }) => {
          const entries = mergeThread(messages, placeholders)
          const keys = entries.map(({ key }) => key)
          expect(new Set(keys).size).toBe(keys.length)
          for (const { id } of placeholders) expect(keys).toContain(id)
          const saved = new Set(messages.map(({ taskId }) => taskId))
          for (const entry of entries) {
            if (entry.kind === 'placeholder') expect(saved.has(entry.task.id)).toBe(false)
          }
          expect(mergeThread(shuffled, placeholders.toReversed())).toEqual(entries)
        },
      ),
      { numRuns: 1_000 },
    )
  })

  it('no entry ever changes places with another: not when sent, started, ended, retried or saved', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat({ max: 3 }), fc.boolean()), { maxLength: 40 }), (steps) => {
        const thread = createThread()
        let order: string[] = []
        for (const [place, goesWell] of steps) {
          thread.step(place, goesWell)
          const next = merge(thread.messages, thread.tasks()).map(({ key }) => key)
          expect(next.filter((key) => order.includes(key))).toEqual(order)
          order = next
        }
      }),
      { numRuns: 500 },
    )
  })
})

/** A thread of several places in which time goes by: each step is the next thing that may happen at one of them. */
function createThread() {
  const tasks = new Map<string, TrackedTask>()
  const messages: Message[] = []
  const newest = new Map<number, string>()
  let clock = 0

  function put(place: number, id: string, given: Partial<TrackedTask> = {}) {
    tasks.set(id, task(id, clock, { placeholderId: `p${place}`, ...given }))
    newest.set(place, id)
  }
  /** The oldest is sent first. */
  const isNext = ({ createdAt, retryOf }: TrackedTask) =>
    retryOf !== null || ![...tasks.values()].some((other) => other.unsent && other.createdAt < createdAt)

  return {
    messages,
    tasks: () => [...tasks.values()],
    step(place: number, goesWell: boolean) {
      clock++
      const current = tasks.get(newest.get(place) ?? '')
      const become = (given: Partial<TrackedTask>) =>
        void (current && tasks.set(current.id, { ...current, ...given }))
      if (!current) return put(place, `key${clock}`, { unsent: true })
      if (current.unsent) {
        if (!isNext(current)) return
        tasks.delete(current.id)
        return put(place, `t${clock}`, { retryOf: current.retryOf })
      }
      if (current.status === 'pending') return become({ status: 'running', startedAt: at(clock) })
      if (current.status === 'running') {
        return become({ status: goesWell ? 'completed' : 'failed', finishedAt: at(clock) })
      }
      if (current.status === 'failed') {
        return put(place, `key${clock}`, { retryOf: current.id, unsent: true })
      }
      if (messages.some(({ taskId }) => taskId === current.id)) return
      messages.push(message(`m${clock}`, clock, { taskId: current.id, placeholderId: `p${place}` }))
    },
  }
}
