import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { ObjectStore } from '../src/objects/object-store.ts'
import { describeBrokenPuts } from './broken-puts.ts'
import { collect } from './collect.ts'
import { inChunks, MIB, madeBytes, sha256 } from './made-bytes.ts'
import { describeObjectKeys } from './object-keys.ts'
import { describeSignedUrls } from './signed-urls.ts'

/** What a test file says about the store it has. */
export interface ObjectStoreWorld {
  store: ObjectStore
  /** The same place, for somebody whose key or secret is not the right one. */
  stranger: ObjectStore
  /** A place of its own, and what makes it vanish: the bucket is removed, the volume is unmounted. */
  doomed(): Promise<{ store: ObjectStore; takeAway(): Promise<void> }>
  stop(): Promise<void>
}

/** The methods of `ObjectStore`, plainly, for tests. */
export interface StoreInUse {
  store(): ObjectStore
  stranger(): ObjectStore
  sign(key: string, expiresInMs?: number): Promise<string>
  /** A key that no other test has. */
  key(name?: string): string
  put(key: string, bytes: Uint8Array, contentType?: string): Promise<void>
  /** What a reader gets at the signed URL; null where there is nothing. */
  read(key: string): Promise<Buffer | null>
  list(prefix: string): Promise<string[]>
}

/** What holds for every store of objects (O1, O2). */
export function describeObjectStore(name: string, setup: () => Promise<ObjectStoreWorld>): void {
  let world: ObjectStoreWorld
  let folder = ''
  let sequence = 0
  beforeAll(async () => {
    world = await setup()
  }, 180_000)
  beforeEach(() => {
    folder = `test-${++sequence}`
  })
  afterAll(() => world?.stop())

  const signed = async (key: string, expiresInMs = 60_000) => {
    const [url = ''] = await world.store.signUrls([key], { expiresInMs })
    return url
  }
  const use: StoreInUse = {
    store: () => world.store,
    stranger: () => world.stranger,
    sign: signed,
    key: (last = 'object') => `${folder}/${last}`,
    put: (key, bytes, contentType = 'application/octet-stream') =>
      world.store.put(key, inChunks(bytes), { contentType, bytes: bytes.byteLength }),
    async read(key) {
      const response = await fetch(await signed(key))
      const bytes = Buffer.from(await response.arrayBuffer())
      if (response.status === 200) return bytes
      // Supabase says so to who reads while a file is overwritten: nothing of it, and another try has it whole.
      if (response.status === 500) return use.read(key)
      expect([400, 404]).toContain(response.status)
      return null
    },
    list: (prefix) => collect(world.store.list(prefix)),
  }

  describe(`${name}: what is stored`, { timeout: 60_000 }, () => {
    it('is there with its length and type, and can be read at its signed URL (O1)', async () => {
      const bytes = madeBytes(100_000)
      await use.put(use.key('a.png'), bytes, 'image/png')
      expect(await world.store.head(use.key('a.png'))).toEqual({ bytes: 100_000, contentType: 'image/png' })
      const response = await fetch(await signed(use.key('a.png')))
      expect(response.status).toBe(200)
      expect(response.headers.get('content-type')).toBe('image/png')
      expect(response.headers.get('content-length')).toBe('100000')
      expect(Buffer.from(await response.arrayBuffer()).equals(bytes)).toBe(true)
    })

    it('is nothing where nothing was put', async () => {
      expect(await world.store.head(use.key())).toBeNull()
      expect(await use.read(use.key())).toBeNull()
      expect(await use.list(folder)).toEqual([])
    })

    const sizes = [0, 1, 5 * MIB - 1, 5 * MIB, 5 * MIB + 1, 20 * MIB]
    it.each(sizes)('is what was put, with %d bytes, whether their number was said or not', async (size) => {
      const bytes = madeBytes(size, size)
      await use.put(use.key('said'), bytes)
      await world.store.put(use.key('unsaid'), inChunks(bytes, 300_000), { contentType: 'video/mp4' })
      for (const key of [use.key('said'), use.key('unsaid')]) {
        expect((await world.store.head(key))?.bytes).toBe(size)
        expect(sha256((await use.read(key)) ?? Buffer.from('nothing'))).toBe(sha256(bytes))
      }
    })

    it('is overwritten by a repeat, bytes and type, also by a shorter one', async () => {
      await use.put(use.key(), madeBytes(6 * MIB, 1), 'video/mp4')
      await use.put(use.key(), madeBytes(100, 2), 'image/webp')
      expect(await world.store.head(use.key())).toEqual({ bytes: 100, contentType: 'image/webp' })
      expect((await use.read(use.key()))?.equals(madeBytes(100, 2))).toBe(true)
      await use.put(use.key(), madeBytes(0))
      expect((await use.read(use.key()))?.byteLength).toBe(0)
      expect(await use.list(folder)).toEqual([use.key()])
    })

    it('is one whole of those that were put at the same time', async () => {
      const bodies = Array.from({ length: 6 }, (_, n) => madeBytes(n % 2 === 0 ? 6 * MIB : 70_000, n + 10))
      await Promise.all(bodies.map((bytes) => use.put(use.key(), bytes)))
      const stored = await use.read(use.key())
      expect(bodies.filter((bytes) => stored?.equals(bytes))).toHaveLength(1)
      expect((await world.store.head(use.key()))?.bytes).toBe(stored?.byteLength)
    })

    it('is the old or the new one, and whole, for who reads while it is overwritten', async () => {
      const versions = [madeBytes(6 * MIB, 1), madeBytes(300_000, 2)]
      const whole = new Set(versions.map(sha256))
      await use.put(use.key(), versions[0] ?? Buffer.alloc(0))
      let writing = true
      const seen = new Set<string>()
      const reader = async () => {
        while (writing) seen.add(sha256((await use.read(use.key())) ?? Buffer.from('nothing')))
      }
      const readers = [reader(), reader()]
      for (let round = 0; round < 6; round++) {
        for (const bytes of versions) await use.put(use.key(), bytes)
      }
      writing = false
      await Promise.all(readers)
      expect([...seen].filter((hash) => !whole.has(hash))).toEqual([])
      expect(seen.size).toBeGreaterThan(0)
    })

    it('does not have to fit into memory', async () => {
      const chunk = madeBytes(256 * 1024)
      const chunks = 768
      const before = memoryInUse()
      let most = 0
      async function* body() {
        for (let n = 0; n < chunks; n++) {
          if (n % 64 === 63) most = Math.max(most, memoryInUse() - before)
          yield chunk
          await new Promise((next) => setImmediate(next))
        }
      }
      await world.store.put(use.key(), body(), { contentType: 'video/mp4' })
      expect((await world.store.head(use.key()))?.bytes).toBe(192 * MIB)
      expect(most).toBeLessThan(40 * MIB)
      await world.store.delete([use.key()])
    })
  })

  describeBrokenPuts(name, use)
  describeSignedUrls(name, use)
  describeObjectKeys(name, use)

  describe(`${name}: a place that is gone`, { timeout: 60_000 }, () => {
    it('is an error for everything that would otherwise find nothing', async () => {
      const { store, takeAway } = await world.doomed()
      const options = { contentType: 'image/png' }
      try {
        await store.check()
        await store.put('a/b.png', inChunks(madeBytes(10)), options)
        await takeAway()
        await expect(store.check()).rejects.toMatchObject({ code: 'STORE_UNUSABLE' })
        await expect(store.delete(['a/b.png'])).rejects.toThrow()
        await expect(collect(store.list(''))).rejects.toThrow()
        await expect(store.head('a/b.png')).rejects.toThrow()
        await expect(store.put('a/c.png', inChunks(madeBytes(10)), options)).rejects.toThrow()
      } finally {
        await store.close()
      }
    })
  })
}

/** Without what is only waiting to be collected. */
function memoryInUse(): number {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
  const { arrayBuffers, heapUsed } = process.memoryUsage()
  return arrayBuffers + heapUsed
}
