import { describe, expect, it } from 'vitest'
import { trackedTask } from '../../test/tracked-task.ts'
import { shortName } from '../environment/short-name.ts'
import { claimAll, endAll, type InboxEntry, type InboxRecord, isReadable, judge } from './inbox-record.ts'

const SINCE = '2026-01-01T00:00:00.000Z'
const task = trackedTask({ id: 't', status: 'completed', finishedAt: '2026-01-01T00:01:00.000Z' })
const early = { ...task, finishedAt: '2025-12-31T23:59:59.999Z' }
const entry = (given: Partial<InboxEntry>): InboxEntry => ({
  tabId: '',
  at: 1,
  isDone: false,
  attempts: 0,
  task: null,
  ...given,
})
const T = shortName('t')
const record = (entries: InboxRecord['entries'] = {}): InboxRecord => ({ since: SINCE, entries })
/** As a later release may write it. */
const foreign = { doneBy: ['save-into-database'] } as unknown as InboxEntry

describe('who hands a task over', () => {
  it.each<[string, typeof task, InboxEntry | undefined, string | undefined, object]>([
    ['nobody has had it', task, undefined, undefined, { kind: 'mine', attempts: 0 }],
    [
      'it ended in the millisecond of the first sync',
      { ...task, finishedAt: SINCE },
      undefined,
      undefined,
      { kind: 'mine' },
    ],
    ['it ended before the first sync', early, undefined, undefined, { kind: 'over' }],
    ['nobody knows when it ended', { ...task, finishedAt: null }, undefined, undefined, { kind: 'over' }],
    ['it was tried before, in vain', early, entry({ attempts: 2 }), undefined, { kind: 'mine', attempts: 2 }],
    ['it is done', task, entry({ isDone: true }), undefined, { kind: 'over' }],
    ['this tab had it before', task, entry({ tabId: 'me' }), undefined, { kind: 'mine' }],
    [
      'another tab has it',
      task,
      entry({ tabId: 'other', at: 7 }),
      undefined,
      { kind: 'theirs', tabId: 'other', at: 7 },
    ],
    ['another tab had it, and is gone', task, entry({ tabId: 'other' }), 'other', { kind: 'mine' }],
    [
      'one tab is gone, and another has it',
      task,
      entry({ tabId: 'third' }),
      'other',
      { kind: 'theirs', tabId: 'third' },
    ],
    ['a later release has had it', task, foreign, undefined, { kind: 'over' }],
  ])('%s', (_, wanted, held, gone, verdict) => {
    expect(judge({ task: wanted, gone }, held, SINCE, 'me')).toMatchObject(verdict)
  })

  it('a claim keeps the task, so that a crash cannot lose it, and leaves all else as it was', () => {
    const before = record({ [shortName('u')]: entry({ tabId: 'other' }), [shortName('v')]: foreign })
    const wanted = [{ task }, { task: { ...task, id: 'u' } }, { task: { ...task, id: 'v' } }]
    const { record: after, verdicts } = claimAll({ ...before, ...{ later: 1 } }, wanted, 'me', 9)
    expect(verdicts.map(({ kind }) => kind)).toEqual(['mine', 'theirs', 'over'])
    expect(after).toEqual({
      ...before,
      later: 1,
      entries: { ...before.entries, [T]: { tabId: 'me', at: 9, isDone: false, attempts: 0, task } },
    })
    expect(before.entries).not.toHaveProperty(T)
  })
})

describe('how it went', () => {
  const done = entry({ at: 9, isDone: true, attempts: 1 })
  const failed = entry({ at: 9, attempts: 1, task })

  it.each<[string, InboxEntry | undefined, boolean, InboxEntry]>([
    ['well', entry({ tabId: 'me', task }), false, done],
    ['badly: the task is kept', entry({ tabId: 'me', task }), true, failed],
    ['well, though another tab took over', entry({ tabId: 'other', task }), false, done],
    ['badly, and another tab took over', entry({ tabId: 'other' }), true, entry({ tabId: 'other' })],
    [
      'badly, after another tab did it well',
      entry({ isDone: true, at: 5 }),
      true,
      entry({ isDone: true, at: 5 }),
    ],
    [
      'well, with a field of a later release',
      Object.assign(entry({ tabId: 'me' }), { later: 1 }),
      false,
      {
        ...done,
        ...{ later: 1 },
      },
    ],
  ])('%s', (_, before, isFailed, after) => {
    const held = record(before && { [T]: before })
    const written = endAll(held, [{ task, attempts: 1, failed: isFailed }], 'me', 9)
    expect(written.entries[T]).toEqual(after)
  })

  it('only the oldest of what is done is forgotten', () => {
    const ids = Array.from({ length: 600 }, (_, index) => `t${index}`)
    const entries = Object.fromEntries(ids.map((id) => [id, entry({ isDone: id !== 't3' })]))
    const { entries: kept } = endAll(record(entries), [{ task, attempts: 1, failed: false }], 'me', 9)
    expect(Object.keys(kept)).toEqual(['t3', ...ids.slice(101), T])
  })
})

it.each([
  [record(), true],
  [{ ...record(), later: 1 }, true],
  [{ v: 2, since: 5, entries: {} }, false],
  [{ v: 2, tasks: [] }, false],
  ['nonsense', false],
  [null, false],
])('%j is readable: %s', (value, expected) => {
  expect(isReadable(value)).toBe(expected)
})
