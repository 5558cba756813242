import { describe, expect, it } from 'vitest'
import { brokenAfter, hangingAfter, inChunks, MIB, madeBytes } from './made-bytes.ts'
import type { StoreInUse } from './object-store-conformance.ts'

/** A put that does not come to its end stores nothing: what was there before is there still, or nothing is (O2). */
export function describeBrokenPuts(name: string, use: StoreInUse): void {
  const contentType = 'video/mp4'
  const old = madeBytes(1_000, 99)
  /** Fails once where nothing was, and once over an old object. */
  async function failsAndChangesNothing(put: (key: string) => Promise<void>): Promise<void> {
    await put(use.key('new'))
    expect(await use.store().head(use.key('new'))).toBeNull()
    expect(await use.read(use.key('new'))).toBeNull()

    await use.put(use.key('old'), old, 'image/png')
    await put(use.key('old'))
    expect(await use.store().head(use.key('old'))).toEqual({
      bytes: old.byteLength,
      contentType: 'image/png',
    })
    expect((await use.read(use.key('old')))?.equals(old)).toBe(true)
    expect(await use.list(use.key(''))).toEqual([use.key('old')])

    // And nothing is in the way of the next one.
    await use.put(use.key('new'), old)
    expect((await use.read(use.key('new')))?.equals(old)).toBe(true)
  }

  describe(`${name}: a put`, { timeout: 60_000 }, () => {
    it.each([0, 1, 1 * MIB, 12 * MIB])(
      'whose body breaks off after %d bytes stores nothing',
      async (size) => {
        const error = new Error('the connection broke off')
        await failsAndChangesNothing(async (key) => {
          const body = brokenAfter(madeBytes(size), error)
          await expect(use.store().put(key, body, { contentType })).rejects.toBe(error)
          const declared = brokenAfter(madeBytes(size), error)
          await expect(use.store().put(key, declared, { contentType, bytes: 13 * MIB })).rejects.toBe(error)
        })
      },
    )

    it.each([10, 1 * MIB, 12 * MIB])('of %d bytes that said another length stores nothing', async (size) => {
      await failsAndChangesNothing(async (key) => {
        const put = (bytes: number) => use.store().put(key, inChunks(madeBytes(size)), { contentType, bytes })
        await expect(put(size - 1)).rejects.toThrow('The body is longer than')
        await expect(put(Math.max(size - 70_000, 0))).rejects.toThrow('The body is longer than')
        await expect(put(size + 1)).rejects.toThrow(`The body ended after ${size} of ${size + 1} bytes`)
      })
    })

    it.each([0, 1, 1 * MIB, 12 * MIB])(
      'that is given up after %d bytes stores nothing and reads no more',
      async (size) => {
        await failsAndChangesNothing(async (key) => {
          const leaving = new AbortController()
          const reason = new Error('given up')
          const { body, reached, ended } = hangingAfter(madeBytes(size))
          const put = use.store().put(key, body, { contentType, signal: leaving.signal })
          const refused = expect(put).rejects.toBe(reason)
          await reached
          leaving.abort(reason)
          await refused
          expect(ended()).toBe(true)
        })
      },
    )

    it('that was given up before it began reads nothing', async () => {
      const reason = new Error('given up')
      await failsAndChangesNothing(async (key) => {
        let read = false
        async function* body() {
          read = true
          yield madeBytes(10)
        }
        const put = use.store().put(key, body(), { contentType, signal: AbortSignal.abort(reason) })
        await expect(put).rejects.toBe(reason)
        expect(read).toBe(false)
      })
    })

    it('that is given up at any moment leaves all or nothing, and nothing comes later', async () => {
      const bytes = madeBytes(7 * MIB, 5)
      for (let round = 0; round < 12; round++) {
        const key = use.key(`round-${round}`)
        const leaving = new AbortController()
        let chunks = 0
        async function* body() {
          for await (const chunk of inChunks(bytes, 256 * 1024)) {
            if (chunks++ === round * 3) leaving.abort()
            yield chunk
          }
        }
        const outcome = await use
          .store()
          .put(key, body(), { contentType, signal: leaving.signal })
          .then(
            () => 'stored',
            () => 'refused',
          )
        const stored = await use.read(key)
        expect(stored === null ? 'refused' : 'stored').toBe(outcome)
        if (stored) expect(stored.equals(bytes)).toBe(true)
      }
    })
  })
}
