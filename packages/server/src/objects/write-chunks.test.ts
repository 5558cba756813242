import { mkdtemp, open, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { writeChunks } from './write-chunks.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-chunks-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

let made = 0
async function written(chunks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const path = join(folder, String(made++))
  const file = await open(path, 'wx')
  try {
    await writeChunks(file, chunks)
  } finally {
    await file.close()
  }
  return readFile(path)
}

describe('writing a body to a file', () => {
  it('writes every byte in its order, whatever the chunks and however they come', async () => {
    const chunk = fc.record({
      bytes: fc.uint8Array({ minLength: 1, maxLength: 300 }),
      times: fc.integer({ min: 1, max: 3_000 }),
      isLate: fc.boolean(),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(chunk, { maxLength: 20 }), async (parts) => {
        const chunks = parts.map(({ bytes, times }) => Buffer.concat(Array(times).fill(bytes)))
        async function* body() {
          for (const [index, each] of chunks.entries()) {
            if (parts[index]?.isLate) await new Promise((next) => setImmediate(next))
            yield each
          }
        }
        expect((await written(body())).equals(Buffer.concat(chunks))).toBe(true)
      }),
      { numRuns: 60 },
    )
  })

  it('finishes a write that the system did only in part', async () => {
    const path = join(folder, 'part')
    const file = await open(path, 'wx')
    // A tenth of what is asked for, as on a disk that is nearly full.
    const partly = new Proxy(file, {
      get(target, key) {
        if (key === 'writev') {
          return (batch: Uint8Array[]) => {
            const all = Buffer.concat(batch)
            return target.write(all.subarray(0, Math.ceil(all.length / 10)))
          }
        }
        const value = Reflect.get(target, key)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
    const chunks = Array.from({ length: 80 }, (_, index) => Buffer.alloc(10_000, index))
    async function* body() {
      yield* chunks
    }
    await writeChunks(partly, body())
    await file.close()
    expect((await readFile(path)).equals(Buffer.concat(chunks))).toBe(true)
  })

  it('throws what the body throws, after the last write has ended', async () => {
    const file = await open(join(folder, 'broken'), 'wx')
    async function* body() {
      yield Buffer.alloc(500_000)
      yield Buffer.alloc(500_000)
      throw new Error('broken')
    }
    await expect(writeChunks(file, body())).rejects.toThrow('broken')
    await file.close()
    expect(await readFile(join(folder, 'broken'))).toHaveLength(1_000_000)
  })

  it('throws what the disk says, and lets go of the body', async () => {
    const file = await open('/dev/full', 'w')
    let isLetGo = false
    async function* body() {
      try {
        for (;;) {
          yield Buffer.alloc(400_000)
          await new Promise((next) => setImmediate(next))
        }
      } finally {
        isLetGo = true
      }
    }
    await expect(writeChunks(file, body())).rejects.toMatchObject({ code: 'ENOSPC' })
    expect(isLetGo).toBe(true)
    await file.close()
  })
})
