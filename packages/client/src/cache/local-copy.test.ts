import { IDBFactory, IDBObjectStore } from 'fake-indexeddb'
import { get, promisifyRequest, set } from 'idb-keyval'
import { describe, expect, it, vi } from 'vitest'
import { createManualClock } from '../../test/manual-clock.ts'
import { MemoryStorage } from '../../test/memory-storage.ts'
import { trackedTask } from '../../test/tracked-task.ts'
import { createItems } from '../environment/items.ts'
import { openIdbStore } from './idb-store.ts'
import { createKeep, type Health } from './kept.ts'
import { createLocalCopy } from './local-copy.ts'

function setUp({
  indexedDB = new IDBFactory(),
  userId = 'alice',
  storage = null,
}: {
  indexedDB?: IDBFactory | null
  userId?: string
  /** Most tests look at the database alone. */
  storage?: MemoryStorage | null
} = {}) {
  const clock = createManualClock()
  const health: string[] = []
  const disk = indexedDB && openIdbStore(indexedDB, 'holdfast:app', clock)
  const onHealth = ({ storage, storageProblem }: Health) =>
    health.push(storageProblem ? `${storage}: ${storageProblem}` : storage)
  const copy = createLocalCopy({
    keep: createKeep(disk, onHealth),
    items: createItems(storage),
    key: userId,
    clock,
    mayWrite: () => true,
  })
  return { clock, copy, health, indexedDB: indexedDB ?? new IDBFactory(), disk }
}

const task = trackedTask({ id: 'a' })

const turn = () => new Promise((resolve) => setImmediate(resolve))

/** A database that never answers. */
const stuck = Object.assign(new IDBFactory(), { open: () => ({}) as IDBOpenDBRequest })

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
    expect(await bob.read()).toBeUndefined()
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
    expect(await copy.read()).toBeUndefined()
  })

  it.each([
    ['an older schema', { schema: 0, tasks: [task] }],
    ['garbage', 'garbage'],
    ['records that are not tasks', { schema: 2, tasks: [null] }],
  ])('discards %s, says so, and goes on', async (_, stored) => {
    const { copy, disk, health } = setUp()
    await set('alice', stored, disk ?? undefined)
    expect(await copy.read()).toBeUndefined()
    expect(health.at(-1)).toBe('memory: corrupt')
    copy.save({ a: task })
    await copy.flush()
    expect(await get('alice', disk ?? undefined)).toEqual({ schema: 2, tasks: [task] })
    expect(health.at(-1)).toBe('durable')
  })

  it('deletes nothing of an older release, and works with the database of a newer one', async () => {
    const indexedDB = new IDBFactory()
    const old = indexedDB.open('holdfast:app', 1)
    old.onupgradeneeded = () => old.result.createObjectStore('tasks').put('unsent', 'key')
    const before = await promisifyRequest(old)
    before.onversionchange = () => before.close()
    const { copy, health } = setUp({ indexedDB })
    copy.save({ a: task })
    await copy.flush()
    expect(await copy.read()).toEqual([task])

    const newer = await promisifyRequest(indexedDB.open('holdfast:app', 7))
    newer.onversionchange = () => newer.close()
    expect(await promisifyRequest(newer.transaction('tasks').objectStore('tasks').get('key'))).toBe('unsent')
    expect(await copy.read()).toEqual([task])
    copy.save({ a: { ...task, version: 2 } })
    await copy.flush()
    expect(await setUp({ indexedDB }).copy.read()).toEqual([{ ...task, version: 2 }])
    expect(health.at(-1)).toBe('durable')
  })

  it('opens the database again when the browser has closed it', async () => {
    const { copy, indexedDB, health } = setUp()
    const connections: IDBDatabase[] = []
    const open = indexedDB.open.bind(indexedDB)
    indexedDB.open = (...how) => {
      const request = open(...how)
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

  it('degrades to memory and says why when storage is missing, blocked, full or does not answer', async () => {
    const missing = setUp({ indexedDB: null })
    expect(await missing.copy.read()).toBeUndefined()
    expect(missing.health).toEqual(['memory: missing'])

    const failing = async (fail: (indexedDB: IDBFactory) => void) => {
      const { copy, health, indexedDB, clock } = setUp()
      fail(indexedDB)
      copy.save({ a: task })
      const flushed = copy.flush()
      await turn()
      clock.advance(1_000)
      await flushed
      // Within the page it is still there.
      const read = copy.read()
      await turn()
      clock.advance(1_000)
      expect(await read).toEqual([task])
      return health
    }
    const blocked = await failing((indexedDB) => {
      indexedDB.open = () => {
        throw new DOMException('blocked', 'SecurityError')
      }
    })
    expect(new Set(blocked)).toEqual(new Set(['memory: blocked']))
    const silent = await failing((indexedDB) => {
      indexedDB.open = () => ({}) as IDBOpenDBRequest
    })
    expect(new Set(silent)).toEqual(new Set(['memory: broken']))

    const full = setUp()
    const { copy, health } = full
    const put = vi.spyOn(IDBObjectStore.prototype, 'put').mockImplementation(() => {
      throw new DOMException('no room', 'QuotaExceededError')
    })
    copy.save({ a: task })
    await copy.flush()
    expect(health.at(-1)).toBe('memory: full')
    put.mockRestore()
  })
})

describe('a local copy in localStorage as well', () => {
  const many = Object.fromEntries(
    Array.from({ length: 300 }, (_, n) => [`many-${n}`, trackedTask({ id: `many-${n}` })]),
  )

  it('F2: is there without waiting for the database', async () => {
    const storage = new MemoryStorage()
    const { copy } = setUp({ storage })
    copy.save({ a: task })
    await copy.flush()
    expect(await setUp({ indexedDB: stuck, storage }).copy.read()).toEqual([task])
  })

  it('is written before the page is gone, which the database may not be', () => {
    const storage = new MemoryStorage()
    const { copy } = setUp({ storage })
    copy.save({ a: task })
    void copy.flush()
    expect(storage.getItem('alice')).toContain('"id":"a"')
  })

  it('that has grown is only in the database', async () => {
    const storage = new MemoryStorage()
    const { copy, indexedDB } = setUp({ storage })
    copy.save({ a: task })
    await copy.flush()
    copy.save(many)
    await copy.flush()
    expect(storage.size).toBe(0)
    expect(await setUp({ indexedDB, storage }).copy.read()).toHaveLength(300)
  })

  it('F2: of any size is there at once for the page that comes next, until something changes', async () => {
    const storage = new MemoryStorage()
    const { copy } = setUp({ storage })
    copy.save(many)
    await copy.flush(true)
    const next = setUp({ indexedDB: stuck, storage })
    expect(await next.copy.read()).toHaveLength(300)
    next.copy.save({ ...many, a: task })
    void next.copy.flush()
    expect(storage.size).toBe(0)
  })

  it('of a page that is put away begins no write to the database, which would hold up other pages', async () => {
    const { copy, indexedDB } = setUp({ storage: new MemoryStorage() })
    const open = vi.spyOn(indexedDB, 'open')
    copy.save({ a: task })
    await copy.flush(true)
    expect(open).not.toHaveBeenCalled()
  })

  it('that would take a fifth of the room is only in the database', async () => {
    const storage = new MemoryStorage()
    const { copy, indexedDB } = setUp({ storage })
    copy.save({ a: { ...task, params: { prompt: 'x'.repeat(1_000_000) } } })
    await copy.flush(true)
    expect(storage.size).toBe(0)
    expect(await setUp({ indexedDB, storage }).copy.read()).toHaveLength(1)
  })

  it('that no longer fits leaves no older one behind', async () => {
    const storage = new MemoryStorage()
    const { copy, indexedDB } = setUp({ storage })
    copy.save({ a: task })
    await copy.flush()
    vi.spyOn(storage, 'setItem').mockImplementation(() => {
      throw new DOMException('full', 'QuotaExceededError')
    })
    copy.save({ a: { ...task, version: 2 } })
    await copy.flush()
    expect(await setUp({ indexedDB, storage }).copy.read()).toEqual([{ ...task, version: 2 }])
  })

  it.each(['garbage', '{"schema":0,"tasks":[]}', '{"schema":2,"tasks":[null]}'])(
    'that cannot be used counts as none: %s',
    async (text) => {
      const storage = new MemoryStorage()
      const { copy, indexedDB } = setUp()
      copy.save({ a: task })
      await copy.flush()
      storage.setItem('alice', text)
      expect(await setUp({ indexedDB, storage }).copy.read()).toEqual([task])
    },
  )

  it('F3: goes with the rest', async () => {
    const storage = new MemoryStorage()
    const { copy } = setUp({ storage })
    copy.save({ a: task })
    await copy.flush()
    await copy.purge()
    expect(storage.size).toBe(0)
    expect(await copy.read()).toBeUndefined()
  })
})
