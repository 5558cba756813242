import { IDBFactory } from 'fake-indexeddb'
import { createStore, get, set } from 'idb-keyval'
import { describe, expect, it, vi } from 'vitest'
import { createManualClock } from '../../test/manual-clock.ts'
import { trackedTask } from '../../test/tracked-task.ts'
import { createLocalCopy } from './local-copy.ts'

function setUp({
  indexedDB = new IDBFactory(),
  userId = 'alice',
}: {
  indexedDB?: IDBFactory
  userId?: string
} = {}) {
  const clock = createManualClock()
  const health: string[] = []
  const copy = createLocalCopy({
    indexedDB,
    database: 'holdfast:app',
    userId,
    clock,
    onHealth: (storage) => health.push(storage),
  })
  return { clock, copy, health, indexedDB }
}

const task = trackedTask({ id: 'a' })

/** What is on disk, read as another library would. */
function onDisk(indexedDB: IDBFactory) {
  vi.stubGlobal('indexedDB', indexedDB)
  return createStore('holdfast:app', 'tasks')
}

describe('the local copy', () => {
  it('writes once for many changes, and the latest', async () => {
    const { clock, copy, indexedDB, health } = setUp()
    copy.save({ a: { ...task, progress: 1 } })
    copy.save({ a: { ...task, progress: 2 } })
    expect(clock.waiting).toBe(1)
    clock.advance(250)
    await vi.waitFor(() => expect(health).toEqual(['durable']))
    expect(await setUp({ indexedDB }).copy.read()).toEqual([{ ...task, progress: 2 }])
  })

  it('is one per user', async () => {
    const { copy, indexedDB } = setUp({ userId: 'alice' })
    copy.save({ a: task })
    await copy.flush()
    const bob = setUp({ indexedDB, userId: 'bob' }).copy
    expect(await bob.read()).toBeNull()
    await bob.purge()
    expect(await copy.read()).toEqual([task])
  })

  it('keeps what is needed to paint: unfinished tasks and the hundred that ended last, within a day', async () => {
    const { clock, copy } = setUp()
    const ago = (minutes: number) => new Date(clock.now() - minutes * 60_000).toISOString()
    const ended = (id: string, minutes: number) =>
      trackedTask({ id, status: 'completed', finishedAt: ago(minutes) })
    const tasks = [
      task,
      ended('old', 25 * 60),
      ...Array.from({ length: 120 }, (_, n) => ended(`ended-${n}`, n)),
    ]
    copy.save(Object.fromEntries(tasks.map((each) => [each.id, each])))
    await copy.flush()
    const kept = (await copy.read())?.map((each) => each.id)
    expect(kept).toEqual(['a', ...Array.from({ length: 100 }, (_, n) => `ended-${n}`)])
  })

  it('a purge also takes what waits to be written', async () => {
    const { clock, copy } = setUp()
    copy.save({ a: task })
    await copy.flush()
    copy.save({ a: task })
    await copy.purge()
    clock.advance(1_000)
    expect(await copy.read()).toBeNull()
  })

  it.each([
    ['an older schema', { schema: 0, tasks: [task] }],
    ['garbage', 'garbage'],
    ['records that are not tasks', { schema: 1, tasks: [null] }],
  ])('discards %s', async (_, stored) => {
    const { copy, indexedDB } = setUp()
    await set('alice', stored, onDisk(indexedDB))
    expect(await copy.read()).toBeNull()
    copy.save({ a: task })
    await copy.flush()
    expect(await get('alice', onDisk(indexedDB))).toEqual({ schema: 1, tasks: [task] })
    vi.unstubAllGlobals()
  })

  it('opens the database again when the browser has closed it', async () => {
    const { copy, indexedDB, health } = setUp()
    const connections: IDBDatabase[] = []
    const open = indexedDB.open.bind(indexedDB)
    indexedDB.open = (name) => {
      const request = open(name)
      request.addEventListener('success', () => connections.push(request.result))
      return request
    }
    copy.save({ a: task })
    await copy.flush()
    connections[0]?.close()
    expect(await copy.read()).toEqual([task])
    expect(connections).toHaveLength(2)
    expect(health).toEqual(['durable', 'durable'])
  })

  it('degrades to memory and says so when storage is missing, blocked or full', async () => {
    const health: string[] = []
    const missing = createLocalCopy({
      indexedDB: null,
      database: 'holdfast:app',
      userId: 'alice',
      clock: createManualClock(),
      onHealth: (storage) => health.push(storage),
    })
    expect(await missing.read()).toBeNull()
    expect(health).toEqual(['memory'])

    const blocked = setUp()
    blocked.indexedDB.open = () => {
      throw new DOMException('blocked', 'SecurityError')
    }
    expect(await blocked.copy.read()).toBeNull()
    blocked.copy.save({ a: task })
    await blocked.copy.flush()
    await blocked.copy.purge()
    expect(new Set(blocked.health)).toEqual(new Set(['memory']))
  })
})
