import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sha256 } from '../../../test/made-bytes.ts'
import { makePicture } from '../../../test/make-picture.ts'
import { type SourceServer, sendPicture, startSourceServer } from '../../../test/source-server.ts'
import { createSourceOpener } from '../../artifacts/source/open-source.ts'
import type { ObjectStore } from '../../objects/object-store.ts'
import { type CopyOrder, copyFile } from './copy-file.ts'

const source = createSourceOpener()
let server: SourceServer
beforeAll(async () => {
  server = await startSourceServer()
})
afterAll(async () => {
  await source.close()
  await server.close()
})

type Put = ObjectStore['put']

/** A store that reads to the end and keeps it. */
function keeping() {
  const kept: { key: string; bytes: Buffer; contentType: string; declared: number | undefined }[] = []
  const put: Put = async (key, body, { contentType, bytes }) => {
    const chunks: Uint8Array[] = []
    for await (const chunk of body) chunks.push(chunk)
    kept.push({ key, bytes: Buffer.concat(chunks), contentType, declared: bytes })
  }
  return { kept, put }
}

function copy(url: string, put: Put, order: Partial<CopyOrder> = {}) {
  return copyFile({
    source,
    objects: { put },
    url,
    key: 'results/a/b/0.png',
    expectedType: 'image/png',
    maxBytes: 1_000_000,
    allowLoopback: true,
    limitMs: 30_000,
    signal: new AbortController().signal,
    ...order,
  })
}

const hangsUntilStopped = (signal: AbortSignal | undefined) =>
  new Promise<never>((_, reject) => {
    if (signal?.aborted) reject(signal.reason)
    signal?.addEventListener('abort', () => reject(signal.reason))
  })

describe('copying one file', () => {
  it('counts and hashes exactly what goes into the store', async () => {
    const picture = makePicture(300_000)
    const { kept, put } = keeping()
    const outcome = await copy(server.offer('whole.png', picture), put)
    expect(outcome).toEqual({
      kind: 'copied',
      bytes: 300_000,
      sha256: sha256(picture),
      contentType: 'image/png',
    })
    expect(kept).toEqual([
      { key: 'results/a/b/0.png', bytes: picture, contentType: 'image/png', declared: 300_000 },
    ])
  })

  it('sends the headers that the provider wants', async () => {
    let authorization: string | undefined
    const url = server.offer('guarded.png', (request, response) => {
      authorization = request.headers.authorization
      sendPicture(response, makePicture())
    })
    await copy(url, keeping().put, { headers: { authorization: 'Key k' } })
    expect(authorization).toBe('Key k')
  })

  it.each([
    [503, { at: 'source', code: 'STATUS', retryable: true }],
    [404, { at: 'source', code: 'EXPIRED', retryable: false }],
    [400, { at: 'source', code: 'STATUS', retryable: false }],
  ])('tells what an answer of %d means, and asks the store for nothing', async (status, failure) => {
    const url = server.offer(`status-${status}.png`, (_request, response) => response.writeHead(status).end())
    const { kept, put } = keeping()
    expect(await copy(url, put)).toMatchObject({ kind: 'failed', ...failure })
    expect(kept).toEqual([])
  })

  it('blames the source for a transfer that breaks off, whatever the store makes of it', async () => {
    const picture = makePicture(100_000)
    const url = server.offer('broken.png', (_request, response) => {
      response.writeHead(200, { 'content-length': picture.length })
      response.write(picture.subarray(0, 60_000), () => response.destroy())
    })
    const put: Put = async (_key, body) => {
      try {
        for await (const _ of body);
      } catch {
        throw new Error('upload failed')
      }
    }
    expect(await copy(url, put)).toMatchObject({ kind: 'failed', at: 'source', retryable: true })
  })

  it.each<[string, Put]>([
    [
      'refuses at once',
      async () => {
        throw Object.assign(new Error('no bucket'), { code: 'NoSuchBucket' })
      },
    ],
    [
      'breaks off in the middle',
      async (_key, body) => {
        for await (const _ of body) throw Object.assign(new Error('no room'), { code: 'NoSuchBucket' })
      },
    ],
  ])('blames the store that %s, and lets go of the source', async (_, put) => {
    let wasClosed = false
    const url = server.offer('refused.png', (_request, response) => {
      response.once('close', () => {
        wasClosed = true
      })
      response.writeHead(200, { 'content-length': 900_000 })
      response.write(makePicture(100_000))
    })
    expect(await copy(url, put)).toMatchObject({
      kind: 'failed',
      at: 'store',
      code: 'NoSuchBucket',
      retryable: true,
    })
    await expect.poll(() => wasClosed).toBe(true)
  })

  it('blames the one that was waited for when the time is over', async () => {
    const slowSource = server.offer('slow.png', (_request, response) => {
      response.writeHead(200, { 'content-length': 100_000 })
      response.write(makePicture(50_000))
    })
    expect(await copy(slowSource, keeping().put, { limitMs: 100 })).toMatchObject({
      kind: 'failed',
      at: 'source',
      code: 'TIMEOUT',
      retryable: true,
    })
    const slowStore: Put = async (_key, body, { signal }) => {
      for await (const _ of body) await hangsUntilStopped(signal)
    }
    const neverBegins: Put = (_key, _body, { signal }) => hangsUntilStopped(signal)
    for (const put of [slowStore, neverBegins]) {
      // On a busy machine the source itself may not be open in time: then with more of it.
      let wasAsked = false
      for (let limitMs = 100; !wasAsked; limitMs *= 4) {
        const asked: Put = (...args) => {
          wasAsked = true
          return put(...args)
        }
        const outcome = await copy(server.offer('fine.png'), asked, { limitMs })
        if (wasAsked) expect(outcome).toMatchObject({ kind: 'failed', at: 'store', code: 'TIMEOUT' })
      }
    }
  })

  it('does not believe a store that did not read to the end', async () => {
    const put: Put = async (_key, body) => {
      for await (const _ of body) return
    }
    expect(await copy(server.offer('half.png', makePicture(900_000)), put)).toMatchObject({
      kind: 'failed',
      at: 'store',
    })
  })

  it('stops when it is told to, before it begins as well as in the middle', async () => {
    expect(await copy(server.offer('no.png'), keeping().put, { signal: AbortSignal.abort() })).toEqual({
      kind: 'stopped',
    })
    const stop = new AbortController()
    const put: Put = async (_key, body, { signal }) => {
      for await (const _ of body) {
        stop.abort()
        await hangsUntilStopped(signal)
      }
    }
    expect(await copy(server.offer('stop.png'), put, { signal: stop.signal })).toEqual({ kind: 'stopped' })
  })
})
