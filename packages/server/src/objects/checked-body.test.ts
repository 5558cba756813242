import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { collect } from '../../test/collect.ts'
import { hangingAfter } from '../../test/made-bytes.ts'
import { checkedBody } from './checked-body.ts'

async function* body(sizes: number[], log: string[] = []): AsyncGenerator<Uint8Array> {
  for (const [n, size] of sizes.entries()) {
    log.push(`read ${n}`)
    yield new Uint8Array(size).fill(n)
  }
  log.push('end')
}

const sum = (sizes: number[]) => sizes.reduce((total, size) => total + size, 0)

describe('a checked body', () => {
  it('is the same body if its length is right or was not said, and fails otherwise', async () => {
    const sizes = fc.array(fc.nat({ max: 50 }), { maxLength: 8 })
    await fc.assert(
      fc.asyncProperty(sizes, fc.option(fc.nat({ max: 400 }), { nil: undefined }), async (chunks, bytes) => {
        const total = sum(chunks)
        const whole = Buffer.concat(await collect(body(chunks)))
        for (const said of [undefined, total]) {
          const checked = await collect(checkedBody(body(chunks), { bytes: said }))
          expect(Buffer.concat(checked).equals(whole)).toBe(true)
        }
        if (bytes === undefined || bytes === total) return
        const given: Uint8Array[] = []
        const reading = (async () => {
          for await (const chunk of checkedBody(body(chunks), { bytes })) given.push(chunk)
        })()
        await expect(reading).rejects.toThrow(total > bytes ? 'longer than' : `ended after ${total} of`)
        // Whoever was promised so many bytes has never had them all.
        if (bytes > 0) expect(sum(given.map((chunk) => chunk.byteLength))).toBeLessThan(bytes)
      }),
    )
  })

  it('gives out its last chunk only when the end is known', async () => {
    const log: string[] = []
    for await (const chunk of checkedBody(body([1, 2, 3], log), {})) log.push(`got ${chunk[0]}`)
    expect(log).toEqual(['read 0', 'read 1', 'got 0', 'read 2', 'got 1', 'end', 'got 2'])
  })

  it('lets go of the body when it is too long, is given up or is not wanted any more', async () => {
    let ended = 0
    async function* endless() {
      try {
        while (true) yield new Uint8Array(10)
      } finally {
        ended++
      }
    }
    await expect(collect(checkedBody(endless(), { bytes: 25 }))).rejects.toThrow('longer than the 25')
    await expect.poll(() => ended).toBe(1)
    for await (const chunk of checkedBody(endless(), {})) if (chunk) break
    await expect.poll(() => ended).toBe(2)
    const leaving = new AbortController()
    const reason = new Error('given up')
    const reading = (async () => {
      for await (const chunk of checkedBody(endless(), { signal: leaving.signal }))
        if (chunk) leaving.abort(reason)
    })()
    await expect(reading).rejects.toBe(reason)
    await expect.poll(() => ended).toBe(3)
  })

  it('lets go of a body of which nothing was read, and of one that hangs', async () => {
    const unread = hangingAfter(new Uint8Array(10))
    await checkedBody(unread.body, {}).return?.()
    expect(unread.ended()).toBe(true)
    const hanging = hangingAfter(new Uint8Array(10))
    const checked = checkedBody(hanging.body, {})
    void checked.next()
    await hanging.reached
    await checked.return?.()
    expect(hanging.ended()).toBe(true)
  })

  it('tells what it threw, to who was told something else', async () => {
    const error = new Error('cut')
    async function* broken(): AsyncGenerator<Uint8Array> {
      yield new Uint8Array(1)
      throw error
    }
    const cut = checkedBody(broken(), {})
    await expect(collect(cut)).rejects.toBe(error)
    expect(() => cut.throwFailure()).toThrow(error)
    expect(await cut.next()).toEqual({ done: true, value: undefined })
    const fine = checkedBody(body([1]), {})
    await collect(fine)
    expect(() => fine.throwFailure()).not.toThrow()
  })
})
