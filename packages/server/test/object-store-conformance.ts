import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { ObjectStore } from '../src/objects/object-store.ts'
import { describeBrokenPuts } from './broken-puts.ts'
import { collect } from './collect.ts'
import { inChunks, MIB, madeBytes, sha256 } from './made-bytes.ts'

/** What a test file says about the store it has. */
export interface ObjectStoreWorld {
  store: ObjectStore
  /** The same place, for somebody whose key or secret is not the right one. */
  stranger: ObjectStore
  stop(): Promise<void>
}

/** The methods of `ObjectStore`, plainly, for tests. */
export interface StoreInUse {
  store(): ObjectStore
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
    key: (last = 'object') => `${folder}/${last}`,
    put: (key, bytes, contentType = 'application/octet-stream') =>
      world.store.put(key, inChunks(bytes), { contentType, bytes: bytes.byteLength }),
    async read(key) {
      const response = await fetch(await signed(key))
      const bytes = Buffer.from(await response.arrayBuffer())
      if (response.status === 200) return bytes
      expect([400, 404]).toContain(response.status)
      return null
    },
    list: (prefix) => collect(world.store.list(prefix)),
  }

  describe(`${name}: what is stored`, () => {
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
    }, 60_000)
  })

  describeBrokenPuts(name, use)

  describe(`${name}: signed URLs`, () => {
    it('answer for ranges', async () => {
      const bytes = madeBytes(1_000)
      await use.put(use.key(), bytes)
      const url = await signed(use.key())
      const part = async (range: string) => {
        const response = await fetch(url, { headers: { range } })
        return {
          status: response.status,
          range: response.headers.get('content-range'),
          bytes: Buffer.from(await response.arrayBuffer()),
        }
      }
      expect(await part('bytes=0-99')).toEqual({
        status: 206,
        range: 'bytes 0-99/1000',
        bytes: bytes.subarray(0, 100),
      })
      expect(await part('bytes=900-')).toMatchObject({ status: 206, bytes: bytes.subarray(900) })
      expect(await part('bytes=-10')).toMatchObject({ status: 206, bytes: bytes.subarray(990) })
      expect(await part('bytes=1000-')).toMatchObject({ status: 416 })
    })

    it('come one for each key and in that order', async () => {
      const keys = ['c', 'a', 'b'].map(use.key)
      await Promise.all(keys.map((key) => use.put(key, Buffer.from(key))))
      const urls = await world.store.signUrls(keys, { expiresInMs: 60_000 })
      expect(await Promise.all(urls.map(async (url) => (await fetch(url)).text()))).toEqual(keys)
      expect(await world.store.signUrls([], { expiresInMs: 60_000 })).toEqual([])
    })

    it('are refused when anything about them was changed', async () => {
      await use.put(use.key('mine'), madeBytes(10))
      await use.put(use.key('other'), madeBytes(20))
      const url = new URL(await signed(use.key('mine')))
      const statusOf = async (change: (changed: URL) => void) => {
        const changed = new URL(url)
        change(changed)
        expect(changed.href).not.toBe(url.href)
        return (await fetch(changed)).status
      }
      const refusals = [
        await statusOf((changed) => {
          changed.pathname = changed.pathname.replace(/mine$/, 'other')
        }),
      ]
      for (const [parameter, value] of url.searchParams) {
        // What only names the operation decides nothing.
        if (parameter === 'x-id') continue
        refusals.push(await statusOf((changed) => changed.searchParams.delete(parameter)))
        refusals.push(await statusOf((changed) => changed.searchParams.set(parameter, swapped(value))))
      }
      expect(refusals.filter((status) => ![400, 401, 403].includes(status))).toEqual([])
      expect((await fetch(url)).status).toBe(200)
    })

    it('are refused when they have expired', async () => {
      await use.put(use.key(), madeBytes(10))
      const url = await signed(use.key(), 1_000)
      expect((await fetch(url)).status).toBe(200)
      await expect
        .poll(async () => (await fetch(url)).status, { timeout: 8_000, interval: 200 })
        .toBeOneOf([400, 401, 403])
    })

    it('cannot be made by a stranger', async () => {
      await use.put(use.key(), madeBytes(10))
      const status = await world.stranger.signUrls([use.key()], { expiresInMs: 60_000 }).then(
        async ([url = '']) => (await fetch(url)).status,
        () => 403,
      )
      expect([400, 401, 403]).toContain(status)
    })
  })

  describe(`${name}: keys`, () => {
    it('are listed by how they begin, deleted together, and deleting again is no error', async () => {
      const numbers = Array.from({ length: 1_050 }, (_, n) => `many/${String(n).padStart(4, '0')}`)
      const keys = [...numbers, 'man', 'many.txt', 'other/many/1'].map(use.key)
      await inParallel(24, keys, (key) => use.put(key, Buffer.from('x')))
      expect((await use.list(use.key('many/'))).sort()).toEqual(numbers.map(use.key))
      expect((await use.list(use.key('many/10'))).sort()).toEqual(numbers.slice(1_000).map(use.key))
      expect((await use.list(`${folder}/`)).sort()).toEqual([...keys].sort())
      expect(await use.list(use.key('many/x'))).toEqual([])

      await world.store.delete(numbers.map(use.key))
      expect((await use.list(`${folder}/`)).sort()).toEqual(['man', 'many.txt', 'other/many/1'].map(use.key))
      await world.store.delete([...numbers.slice(0, 5), 'never-there'].map(use.key))
      await world.store.delete([])
      await world.store.delete(['man', 'many.txt', 'other/many/1'].map(use.key))
      expect(await use.list(`${folder}/`)).toEqual([])
      expect(await world.store.head(use.key('man'))).toBeNull()
    }, 60_000)

    it('that are odd but legal are kept apart', async () => {
      const long = 'x'.repeat(200)
      const odd = ['a', 'a/b', 'a/b/c', 'a.b', 'A', '.a', 'a.', '..a', 'a..', '-', '_', '0', 'a-/b', long]
      const keys = [...odd, `${long}/${long}`].map(use.key)
      await Promise.all(keys.map((key, n) => use.put(key, Buffer.from(`${n} ${key}`), `text/x-${n}`)))
      for (const [n, key] of keys.entries()) {
        expect((await use.read(key))?.toString(), key).toBe(`${n} ${key}`)
        expect((await world.store.head(key))?.contentType, key).toBe(`text/x-${n}`)
      }
      expect((await use.list(`${folder}/`)).sort()).toEqual([...keys].sort())
      await world.store.delete([use.key('a')])
      expect((await use.list(use.key('a'))).sort()).toEqual(
        keys.filter((key) => key.startsWith(use.key('a')) && key !== use.key('a')).sort(),
      )
    })

    it('of any legal form are found again, and only they', async () => {
      const segment = fc.stringMatching(/^[A-Za-z0-9._-]{1,12}$/).filter((text) => !/^\.+$/.test(text))
      const legal = fc.array(segment, { minLength: 1, maxLength: 4 }).map((segments) => segments.join('/'))
      let round = 0
      await fc.assert(
        fc.asyncProperty(fc.uniqueArray(legal, { minLength: 1, maxLength: 6 }), async (names) => {
          const keys = names.map((each) => use.key(`round-${++round}/${each}`))
          await Promise.all(keys.map((key) => use.put(key, Buffer.from(key))))
          for (const key of keys) expect((await use.read(key))?.toString()).toBe(key)
          const [deleted = '', ...kept] = keys
          await world.store.delete([deleted])
          expect(await use.read(deleted)).toBeNull()
          for (const key of kept) expect((await use.read(key))?.toString()).toBe(key)
        }),
        { numRuns: 10 },
      )
    }, 60_000)

    const illegal = [
      '',
      '/',
      '/a',
      'a/',
      'a//b',
      '.',
      '..',
      '...',
      '../a',
      'a/../b',
      'a/./b',
      'a/..',
      'a\\..\\b',
      '%2e%2e/a',
      'a%2fb',
      'a b',
      'a?b',
      'a#b',
      'a:b',
      'a@b',
      '~/a',
      'ä',
      'a\u0000b',
      'a\nb',
      'x'.repeat(201),
      'x/'.repeat(500).slice(0, -1),
    ]
    it('that are illegal are refused by everything, and change nothing', async () => {
      const refused = async (key: string) => {
        await expect(use.put(key, madeBytes(1))).rejects.toThrow('cannot be the key of an object')
        await expect(world.store.head(key)).rejects.toThrow('cannot be the key of an object')
        await expect(world.store.signUrls([key], { expiresInMs: 1_000 })).rejects.toThrow('cannot be the key')
        await expect(world.store.delete([use.key('kept'), key])).rejects.toThrow('cannot be the key')
      }
      await use.put(use.key('kept'), madeBytes(1))
      for (const key of illegal) await refused(key)
      const foreign = fc.string({ unit: 'binary' }).filter((text) => /[^A-Za-z0-9._/-]/.test(text))
      await fc.assert(fc.asyncProperty(foreign, refused), { numRuns: 200 })
      for (const prefix of ['/', 'a//', '../', 'a/../b', '%2e', 'a b']) {
        await expect(use.list(prefix)).rejects.toThrow('is not the beginning of any key')
      }
      expect(await use.list(`${folder}/`)).toEqual([use.key('kept')])
    })

    it('are stored only with a type that can be a header', async () => {
      for (const contentType of [
        '',
        'png',
        'a/b\r\nx-evil: 1',
        'image/png\n',
        'ä/b',
        `a/${'b'.repeat(300)}`,
      ]) {
        await expect(use.put(use.key(), madeBytes(1), contentType)).rejects.toThrow('is not a content type')
      }
      expect(await world.store.head(use.key())).toBeNull()
      await use.put(use.key(), madeBytes(1), 'text/plain; charset=utf-8')
      expect((await world.store.head(use.key()))?.contentType).toBe('text/plain; charset=utf-8')
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

/** Another text of the same length and kind. */
function swapped(value: string): string {
  const last = value.at(-1) ?? ''
  // Base64 ignores some bits of a last character, so a middle one is changed, too.
  const middle = Math.floor(value.length / 2)
  const other = (character: string) => (character === '1' ? '2' : '1')
  return `${value.slice(0, middle)}${other(value.charAt(middle))}${value.slice(middle + 1, -1)}${other(last)}`
}

async function inParallel<T>(count: number, items: T[], work: (item: T) => Promise<void>): Promise<void> {
  const rest = items.values()
  const worker = async () => {
    for (const item of rest) await work(item)
  }
  await Promise.all(Array.from({ length: count }, worker))
}
