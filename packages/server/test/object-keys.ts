import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { madeBytes } from './made-bytes.ts'
import type { StoreInUse } from './object-store-conformance.ts'

/** Keys are kept apart, found by their beginnings, and never lead elsewhere. */
export function describeObjectKeys(name: string, use: StoreInUse): void {
  describe(`${name}: keys`, { timeout: 60_000 }, () => {
    it('are listed by how they begin, deleted together, and deleting again is no error', async () => {
      const numbers = Array.from({ length: 1_050 }, (_, n) => `many/${String(n).padStart(4, '0')}`)
      const keys = [...numbers, 'man', 'many.txt', 'other/many/1'].map(use.key)
      await inParallel(24, keys, (key) => use.put(key, Buffer.from('x')))
      expect((await use.list(use.key('many/'))).sort()).toEqual(numbers.map(use.key))
      expect((await use.list(use.key('many/10'))).sort()).toEqual(numbers.slice(1_000).map(use.key))
      expect((await use.list(use.key(''))).sort()).toEqual([...keys].sort())
      expect(await use.list(use.key('many/x'))).toEqual([])

      await use.store().delete(numbers.map(use.key))
      expect((await use.list(use.key(''))).sort()).toEqual(['man', 'many.txt', 'other/many/1'].map(use.key))
      await use.store().delete([...numbers.slice(0, 5), 'never-there'].map(use.key))
      await use.store().delete([])
      await use.store().delete(['man', 'many.txt', 'other/many/1'].map(use.key))
      expect(await use.list(use.key(''))).toEqual([])
      expect(await use.store().head(use.key('man'))).toBeNull()
    })

    it('that are odd but legal are kept apart', async () => {
      const long = 'x'.repeat(200)
      const odd = ['a', 'a/b', 'a/b/c', 'a.b', 'A', '.a', 'a.', '..a', 'a..', '-', '_', '0', 'a-/b', long]
      const keys = [...odd, `${long}/${long}`].map(use.key)
      await Promise.all(keys.map((key, n) => use.put(key, Buffer.from(`${n} ${key}`), `text/x-${n}`)))
      for (const [n, key] of keys.entries()) {
        expect((await use.read(key))?.toString(), key).toBe(`${n} ${key}`)
        expect((await use.store().head(key))?.contentType, key).toBe(`text/x-${n}`)
      }
      expect((await use.list(use.key(''))).sort()).toEqual([...keys].sort())
      await use.store().delete([use.key('a')])
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
          await use.store().delete([deleted])
          expect(await use.read(deleted)).toBeNull()
          for (const key of kept) expect((await use.read(key))?.toString()).toBe(key)
        }),
        { numRuns: 10 },
      )
    })

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
        await expect(use.store().head(key)).rejects.toThrow('cannot be the key of an object')
        await expect(use.store().signUrls([key], { expiresInMs: 1_000 })).rejects.toThrow('cannot be the key')
        await expect(use.store().delete([use.key('kept'), key])).rejects.toThrow('cannot be the key')
      }
      await use.put(use.key('kept'), madeBytes(1))
      for (const key of illegal) await refused(key)
      const anyText = fc.array(fc.nat({ max: 0xffff })).map((codes) => String.fromCharCode(...codes))
      const foreign = anyText.filter((text) => /[^A-Za-z0-9._/-]/.test(text))
      await fc.assert(fc.asyncProperty(foreign, refused), { numRuns: 100 })
      for (const prefix of ['/', 'a//', '../', 'a/../b', '%2e', 'a b']) {
        await expect(use.list(prefix)).rejects.toThrow('is not the beginning of any key')
      }
      expect(await use.list(use.key(''))).toEqual([use.key('kept')])
    })

    it('are stored only with a type that can be a header', async () => {
      for (const contentType of [
        '',
        'png',
        'a/b\r\nx-evil: 1',
        'image/png\n',
        'ä/b',
        `a/${'b'.repeat(300)}`,
        'multipart/form-data',
        'Multipart/mixed; boundary=x',
      ]) {
        await expect(use.put(use.key(), madeBytes(1), contentType)).rejects.toThrow('is not a content type')
      }
      expect(await use.store().head(use.key())).toBeNull()
      await use.put(use.key(), madeBytes(1), 'text/plain; charset=utf-8')
      expect((await use.store().head(use.key()))?.contentType).toBe('text/plain; charset=utf-8')
    })
  })
}

async function inParallel<T>(count: number, items: T[], work: (item: T) => Promise<void>): Promise<void> {
  const rest = items.values()
  const worker = async () => {
    for (const item of rest) await work(item)
  }
  await Promise.all(Array.from({ length: count }, worker))
}
