import { describe, expect, it } from 'vitest'
import { createManualClock } from '../../test/manual-clock.ts'
import { settle } from '../../test/simulated-browser.ts'
import { trackedTask } from '../../test/tracked-task.ts'
import type { KeptRecord } from '../cache/kept.ts'
import { shortName } from '../environment/short-name.ts'
import type { TrackedTask } from '../store/merge-tasks.ts'
import { createInbox, type SettleHandler } from './inbox.ts'

const SINCE = '2026-01-01T00:00:00.000Z'
const ended = (count: number) =>
  Array.from({ length: count }, (_, index) =>
    trackedTask({ id: `t${index}`, status: 'completed', finishedAt: '2026-01-01T00:01:00.000Z' }),
  )

/** A disk that outlives its pages and counts what is done to it. */
function createDisk(held?: object) {
  let memory: object | undefined
  const disk = {
    held,
    transactions: 0,
    isFull: false,
    /** As one page sees it; `step` may never resolve: the page is gone. */
    recordFor(step: () => Promise<void> = () => Promise.resolve()): KeptRecord<object> {
      return {
        async read() {
          await step()
          disk.transactions++
          await step()
          return structuredClone(disk.held)
        },
        async change(to) {
          await step()
          const after = structuredClone(to(structuredClone(disk.held)))
          if (disk.isFull) {
            memory = to(memory)
            return false
          }
          disk.transactions++
          disk.held = after
          await step()
          return true
        },
        async drop() {
          disk.held = undefined
        },
      }
    },
  }
  return disk
}

interface Page {
  tabId: string
  disk: ReturnType<typeof createDisk>
  known?: TrackedTask[]
  handler?: SettleHandler
  step?: () => Promise<void>
  isAlive?(tabId: string): Promise<boolean>
  isLeader?: boolean
}

function openPage({ tabId, disk, known = [], handler, step, isAlive, isLeader = true }: Page) {
  const unsaved: string[] = []
  const inbox = createInbox({
    record: disk.recordFor(step),
    tabId,
    clock: createManualClock(),
    session: new AbortController().signal,
    isAlive: isAlive ?? (async () => false),
    isLeader: () => isLeader,
    known: () => known,
    onFailed: (task) => unsaved.push(task.id),
  })
  if (handler) inbox.handle(handler)
  return { inbox, unsaved }
}

const handledBy = (handled: string[]) => (task: TrackedTask) => void handled.push(task.id)

describe('the inbox’s transactions', () => {
  it('takes three transactions for a hundred tasks that ended meanwhile, and none for what it knows', async () => {
    const disk = createDisk({ since: SINCE, entries: {} })
    const known = ended(100)
    const handled: string[] = []
    const { inbox } = openPage({ tabId: 'a', disk, known, handler: handledBy(handled) })
    await inbox.confirm(SINCE)
    await settle()
    expect(handled).toHaveLength(100)
    expect(disk.transactions).toBeLessThanOrEqual(3)
    const before = disk.transactions
    inbox.offer(known.map((task) => ({ ...task, version: 9 })))
    await settle()
    expect(disk.transactions).toBe(before)
    expect(handled).toHaveLength(100)
  })

  it('writes what ends while it writes as the next batch, and waits for no slow handler', async () => {
    const disk = createDisk({ since: SINCE, entries: {} })
    let release = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    const handler = ({ id }: TrackedTask) => (id === 't0' ? held : undefined)
    const { inbox } = openPage({ tabId: 'a', disk, known: ended(50), handler })
    await inbox.confirm(SINCE)
    await settle()
    const entries = () =>
      Object.values((disk.held as { entries: Record<string, { isDone: boolean }> }).entries)
    expect(entries().filter(({ isDone }) => isDone)).toHaveLength(49)
    release()
    await settle()
    expect(entries().every(({ isDone }) => isDone)).toBe(true)
  })

  it('asks a tab once whether it lives, however many tasks it holds, and takes them over in one go', async () => {
    const disk = createDisk({ since: SINCE, entries: {} })
    const known = ended(100)
    const first = openPage({ tabId: 'a', disk, known, handler: () => new Promise(() => {}) })
    await first.inbox.confirm(SINCE)
    await settle()
    const before = disk.transactions
    const handled: string[] = []
    const asked: string[] = []
    const isAlive = async (tabId: string) => {
      asked.push(tabId)
      return false
    }
    const second = openPage({ tabId: 'b', disk, known, handler: handledBy(handled), isAlive })
    await second.inbox.confirm(SINCE)
    await settle()
    expect(handled).toHaveLength(100)
    expect(asked).toEqual(['a'])
    expect(disk.transactions - before).toBeLessThanOrEqual(4)
  })

  it('one that lives keeps its tasks', async () => {
    const disk = createDisk({ since: SINCE, entries: {} })
    const known = ended(3)
    const first = openPage({ tabId: 'a', disk, known, handler: () => new Promise(() => {}) })
    await first.inbox.confirm(SINCE)
    const handled: string[] = []
    const isAlive = async () => true
    const second = openPage({ tabId: 'b', disk, known, handler: handledBy(handled), isAlive })
    await second.inbox.confirm(SINCE)
    await settle()
    expect(handled).toEqual([])
  })

  it('a page that dies at any step loses nothing, even when the server has forgotten the tasks', async () => {
    const known = ended(4)
    const ids = known.map(({ id }) => id)
    let deaths = 0
    for (let last = 0; ; last++) {
      const disk = createDisk({ since: SINCE, entries: {} })
      const handled: string[] = []
      let steps = 0
      let died = false
      const step = async () => {
        if (steps++ < last) return
        died = true
        await new Promise(() => {})
      }
      const doomed = openPage({
        tabId: 'a',
        disk,
        known,
        step,
        async handler(task) {
          await step()
          if (task.id === 't3') throw new Error('not now')
          handled.push(task.id)
          await step()
        },
      })
      void doomed.inbox.confirm(SINCE)
      await settle()
      const claimed = Object.keys((disk.held as { entries: object }).entries)
      // What was not claimed yet is what the server still tells.
      const rest = known.filter(({ id }) => !claimed.includes(shortName(id)))
      const next = openPage({ tabId: 'b', disk, known: rest, handler: handledBy(handled) })
      await next.inbox.confirm(SINCE)
      await settle()
      expect(new Set(handled)).toEqual(new Set(ids))
      if (!died) break
      deaths++
    }
    expect(deaths).toBeGreaterThan(8)
  })

  it('leaves a later release’s record as it is, and acts in the leading tab alone', async () => {
    const later = { v: 2, tasks: { t0: { doneBy: ['save'] } } }
    for (const isLeader of [true, false]) {
      const disk = createDisk(structuredClone(later))
      const handled: string[] = []
      const known = ended(2)
      const { inbox } = openPage({ tabId: 'a', disk, known, handler: handledBy(handled), isLeader })
      await inbox.confirm(SINCE)
      await settle()
      inbox.offer(known)
      await settle()
      expect(disk.held).toEqual(later)
      expect(handled).toEqual(isLeader ? ['t0', 't1'] : [])
    }
  })

  it('goes on in the leading tab when the disk is full', async () => {
    const disk = createDisk()
    const handled: string[] = []
    const { inbox } = openPage({ tabId: 'a', disk, handler: handledBy(handled) })
    await inbox.confirm(SINCE)
    disk.isFull = true
    inbox.offer(ended(2))
    await settle()
    inbox.offer(ended(2))
    await settle()
    expect(handled).toEqual(['t0', 't1'])
  })
})
