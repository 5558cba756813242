import { describe, expect, it } from 'vitest'
import { madeBytes } from './made-bytes.ts'
import type { StoreInUse } from './object-store-conformance.ts'

/** A signed URL is for one object and for a time, and for anybody who has it (O1). */
export function describeSignedUrls(name: string, use: StoreInUse): void {
  describe(`${name}: signed URLs`, { timeout: 60_000 }, () => {
    it('answer for ranges', async () => {
      const bytes = madeBytes(1_000)
      await use.put(use.key(), bytes)
      const url = await use.sign(use.key())
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
      const urls = await use.store().signUrls(keys, { expiresInMs: 60_000 })
      expect(await Promise.all(urls.map(async (url) => (await fetch(url)).text()))).toEqual(keys)
      expect(await use.store().signUrls([], { expiresInMs: 60_000 })).toEqual([])
    })

    it('are refused when anything about them was changed', async () => {
      await use.put(use.key('mine'), madeBytes(10))
      await use.put(use.key('other'), madeBytes(20))
      const url = new URL(await use.sign(use.key('mine')))
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
      const url = await use.sign(use.key(), 1_000)
      expect((await fetch(url)).status).toBe(200)
      await expect
        .poll(async () => (await fetch(url)).status, { timeout: 8_000, interval: 200 })
        .toBeOneOf([400, 401, 403])
    })

    it('cannot be made by a stranger', async () => {
      await use.put(use.key(), madeBytes(10))
      const status = await use
        .stranger()
        .signUrls([use.key()], { expiresInMs: 60_000 })
        .then(
          async ([url = '']) => (await fetch(url)).status,
          () => 403,
        )
      expect([400, 401, 403]).toContain(status)
    })
  })
}

/** Another text of the same length and kind. */
function swapped(value: string): string {
  const last = value.at(-1) ?? ''
  // Base64 ignores some bits of a last character, so a middle one is changed, too.
  const middle = Math.floor(value.length / 2)
  const other = (character: string) => (character === '1' ? '2' : '1')
  return `${value.slice(0, middle)}${other(value.charAt(middle))}${value.slice(middle + 1, -1)}${other(last)}`
}
