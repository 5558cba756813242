import type { Task } from '@holdfast/shared'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Call } from '../../bench/tabs/serve-page.ts'
import { createLedger } from '../../bench/tabs/submit-ledger.ts'

const task = (key: string, status = 'completed') => ({ id: `of ${key}`, placeholderId: key, status }) as Task

const call = (at: number, endedAt: number, more: Partial<Call> = {}): Call => ({
  at,
  endedAt,
  method: 'POST',
  path: '/v1/tasks',
  tab: 'tab 1',
  release: null,
  key: 'a',
  isForwarded: true,
  isAnswered: true,
  ...more,
})

const NOTHING = { lost: [], doubled: [], sentAfterDiscard: [], notCancelled: [] }

/** A proof that cannot fail proves nothing: the judge of the tabs proof. */
describe('the ledger of the tabs proof', () => {
  beforeEach(() => void vi.useFakeTimers({ now: 10_000 }))
  afterEach(() => void vi.useRealTimers())

  function submitted(storage: 'durable' | 'memory') {
    const ledger = createLedger()
    ledger.made('a', 'a lighthouse', 'tab 1')
    ledger.kept('a', storage)
    return ledger
  }

  it('misses what was kept and has no task, and what has two', () => {
    const ledger = submitted('durable')
    ledger.ended('tab 1', 'crashed')
    expect(ledger.judge([], []).lost).toEqual(['a'])
    expect(ledger.judge([task('a')], [])).toEqual(NOTHING)
    expect(ledger.judge([task('a'), task('a')], []).doubled).toEqual(['a'])
  })

  it('lets what was only in memory go with its page, and no sooner', () => {
    const ledger = submitted('memory')
    ledger.ended('tab 2', 'crashed')
    expect(ledger.judge([], []).lost).toEqual(['a'])
    ledger.ended('tab 1', 'crashed')
    expect(ledger.judge([], [])).toEqual(NOTHING)
    expect(ledger.judge([task('a'), task('a')], []).doubled).toEqual(['a'])
  })

  it('misses a request that began after the discard', () => {
    const ledger = submitted('durable')
    ledger.discarded('a', 'tab 2', 10_000, 10_010)
    expect(ledger.judge([], [])).toEqual(NOTHING)
    expect(ledger.judge([task('a')], [call(12_000, 12_100)]).sentAfterDiscard).toEqual(['a'])
  })

  it('wants a task cancelled whose request was under way at the discard', () => {
    const ledger = submitted('durable')
    ledger.discarded('a', 'tab 2', 10_000, 10_010)
    const underWay = call(9_900, 10_500)
    expect(ledger.judge([task('a')], [underWay]).notCancelled).toEqual(['a'])
    expect(ledger.judge([task('a', 'cancelled')], [underWay])).toEqual(NOTHING)
    const cancel = call(10_600, 10_700, { path: '/v1/tasks/of a/cancel', key: null })
    expect(ledger.judge([task('a')], [underWay, cancel])).toEqual(NOTHING)
  })

  it('wants it cancelled also when nobody got the answer, or the page died that did', () => {
    const ledger = submitted('durable')
    ledger.discarded('a', 'tab 2', 10_000, 10_010)
    const unanswered = call(9_900, 10_500, { isAnswered: false })
    expect(ledger.judge([task('a')], [unanswered]).notCancelled).toEqual(['a'])
    vi.setSystemTime(10_200)
    ledger.ended('tab 1', 'crashed')
    expect(ledger.judge([task('a')], [unanswered]).notCancelled).toEqual(['a'])
  })

  it('wants nothing of a discard that may not have been written', () => {
    const ledger = submitted('durable')
    ledger.discarded('a', 'tab 2', 10_000, null)
    expect(ledger.judge([task('a')], [call(9_900, 10_500)])).toEqual(NOTHING)
  })
})
