import { once } from 'node:events'
import { createServer } from 'node:http'
import {
  CreateMultipartUploadCommand,
  DeleteBucketCommand,
  DeleteObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
} from '@aws-sdk/client-s3'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { collect } from '../../test/collect.ts'
import { freePort } from '../../test/free-port.ts'
import { hangingAfter, inChunks, MIB, madeBytes, sha256 } from '../../test/made-bytes.ts'
import { createMemoryLog } from '../../test/memory-log.ts'
import { describeObjectStore } from '../../test/object-store-conformance.ts'
import { startTestRadosgw, type TestRadosgw } from '../../test/radosgw-for-tests.ts'
import { makeBucket, type TestBucket } from '../../test/s3-bucket.ts'
import { createS3Store, type S3Store, type S3StoreOptions } from './s3-store.ts'

let gateway: TestRadosgw
beforeAll(async () => {
  gateway = await startTestRadosgw()
}, 300_000)
afterAll(() => gateway?.stop())

let conformance: TestBucket
describeObjectStore('S3 store', async () => {
  conformance = await makeBucket(gateway, 'conformance')
  const { options, client } = conformance
  const store = createS3Store(options)
  const stranger = createS3Store({ ...options, secretAccessKey: 'not the secret key' })
  return {
    store,
    stranger,
    async doomed() {
      const doomed = await makeBucket(gateway, 'doomed')
      const { bucket } = doomed.options
      return {
        store: createS3Store(doomed.options),
        async takeAway() {
          await doomed.client.send(new DeleteObjectCommand({ Bucket: bucket, Key: 'a/b.png' }))
          await doomed.client.send(new DeleteBucketCommand({ Bucket: bucket }))
          doomed.client.destroy()
        },
      }
    },
    async stop() {
      await Promise.all([store.close(), store.close(), stranger.close()])
      client.destroy()
    },
  }
})

it('an S3 store has no part left of all those puts that broke off', async () => {
  await expect.poll(() => conformance.unfinished()).toEqual([])
})

describe('an S3 store', () => {
  let bucket: TestBucket
  const stores: S3Store[] = []
  beforeAll(async () => {
    bucket = await makeBucket(gateway, 'details')
  })
  afterEach(async () => {
    await Promise.all(stores.splice(0).map((store) => store.close()))
  })
  afterAll(() => bucket?.client.destroy())

  function open(options: Partial<S3StoreOptions> = {}): S3Store {
    const store = createS3Store({ ...bucket.options, ...options })
    stores.push(store)
    return store
  }
  const put = (store: S3Store, key: string, bytes = madeBytes(10), contentType = 'image/png') =>
    store.put(key, inChunks(bytes), { contentType })
  const sign = async (store: S3Store, expiresInMs: number) =>
    new URL((await store.signUrls(['a/b.png'], { expiresInMs }))[0] ?? '')

  it('keeps to its prefix and sees nothing beside it', async () => {
    const [plain, inside] = [open(), open({ prefix: 'in/side' })]
    await put(plain, 'a')
    await put(inside, 'a', madeBytes(20))
    expect((await collect(plain.list(''))).sort()).toEqual(['a', 'in/side/a'])
    expect(await collect(inside.list(''))).toEqual(['a'])
    expect(await inside.head('a')).toEqual({ bytes: 20, contentType: 'image/png' })
    await inside.delete(['a'])
    expect(await collect(plain.list(''))).toEqual(['a'])
  })

  it('signs for where browsers are, and the same URL for a while', async () => {
    const hour = 60 * 60_000
    let now = Date.UTC(2030, 0, 1, 0, 10)
    const store = open({ publicEndpoint: 'https://files.example.com', now: () => now })
    const first = await sign(store, 24 * hour)
    expect(first.origin).toBe('https://files.example.com')
    expect(first.pathname).toBe('/details/a/b.png')
    expect(Number(first.searchParams.get('X-Amz-Expires'))).toBe(25 * 60 * 60)
    now += hour / 2
    expect((await sign(store, 24 * hour)).href).toBe(first.href)
    now += hour
    expect((await sign(store, 24 * hour)).href).not.toBe(first.href)
    const virtual = open({ endpoint: 'https://s3.example.com', forcePathStyle: false })
    expect((await sign(virtual, hour)).host).toBe('details.s3.example.com')
  })

  it('signs for seven days at most, as S3 does', async () => {
    const day = 24 * 60 * 60_000
    const expires = Number((await sign(open(), 7 * day)).searchParams.get('X-Amz-Expires'))
    expect(expires).toBe((7 * day) / 1_000)
    await expect(sign(open(), 8 * day)).rejects.toThrow('at most seven days')
  })

  it.each([
    ['image/png', 'inline'],
    ['video/mp4', 'inline'],
    ['image/svg+xml', 'attachment'],
    ['text/html', 'attachment'],
  ])('stores %s as %s, for whoever opens it by itself', async (contentType, disposition) => {
    const store = open()
    await put(store, 'shown', madeBytes(10), contentType)
    const [url = ''] = await store.signUrls(['shown'], { expiresInMs: 60_000 })
    expect((await fetch(url)).headers.get('content-disposition')).toBe(disposition)
  })

  it('is refused with other credentials, and says so without any of them (S3)', async () => {
    const secretAccessKey = 'a-secret-that-must-not-be-seen'
    const { log, lines } = createMemoryLog()
    const stranger = open({ secretAccessKey, log })
    await put(open(), 'kept')
    const attempts = [
      () => put(stranger, 'kept', madeBytes(20)),
      () => put(stranger, 'large', madeBytes(6 * MIB)),
      () => stranger.delete(['kept']),
      () => collect(stranger.list('')),
    ]
    for (const attempt of attempts) {
      const error: Error & { code?: string } = await attempt().then(
        () => new Error('it was let in'),
        (refusal) => refusal,
      )
      expect(error.message).toMatch(
        /^Could not (store|delete|list).* bucket details: .*SignatureDoesNotMatch/,
      )
      expect(error.code).toBe('SignatureDoesNotMatch')
      log.error({ err: error }, 'refused')
      expect(error.cause).toBeUndefined()
      expect(JSON.stringify(error, Object.getOwnPropertyNames(error))).not.toContain(secretAccessKey)
    }
    await expect(stranger.head('kept')).rejects.toThrow('Could not look for kept in the bucket details')
    await stranger.close()
    expect(lines.join()).toContain('could not look for unfinished uploads')
    expect(lines.join()).not.toContain(secretAccessKey)
    expect(await open().head('kept')).toEqual({ bytes: 10, contentType: 'image/png' })
  })

  it('says which bucket is not there', async () => {
    await expect(put(open({ bucket: 'nowhere' }), 'a')).rejects.toThrow(
      /Could not store a in the bucket nowhere: .*NoSuchBucket/,
    )
  })

  it('says that nobody answers, and does not wait for the body to tell', async () => {
    const store = open({ endpoint: `http://127.0.0.1:${await freePort()}` })
    const { body, ended } = hangingAfter(madeBytes(12 * MIB))
    await expect(store.put('a', body, { contentType: 'video/mp4' })).rejects.toThrow(
      /Could not store a in the bucket details: .*ECONNREFUSED/,
    )
    await expect.poll(ended).toBe(true)
    await expect(store.head('a')).rejects.toThrow(/Could not look for a .*ECONNREFUSED/)
  })

  it('can be given up while the other side says nothing', async () => {
    const silent = createServer(() => {})
    silent.listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const address = silent.address()
    const port = typeof address === 'object' && address ? address.port : 0
    const store = open({ endpoint: `http://127.0.0.1:${port}` })
    const reason = new Error('given up')
    const attempts: ((signal: AbortSignal) => Promise<unknown>)[] = [
      (signal) => store.put('a', inChunks(madeBytes(100)), { contentType: 'image/png', signal }),
      (signal) => store.put('a', inChunks(madeBytes(6 * MIB)), { contentType: 'image/png', signal }),
      (signal) => store.head('a', signal),
      (signal) => store.delete(['a'], signal),
      (signal) => collect(store.list('', signal)),
    ]
    for (const attempt of attempts) {
      const leaving = new AbortController()
      const heard = once(silent, 'request')
      const given = expect(attempt(leaving.signal)).rejects.toBe(reason)
      await heard
      leaving.abort(reason)
      await given
    }
    silent.closeAllConnections()
    silent.close()
  })

  it('describes a delete of several as all stores understand it', async () => {
    const seen: { headers: Record<string, unknown>; body: string }[] = []
    const server = createServer(async (request, response) => {
      const body = Buffer.concat(await collect<Buffer>(request)).toString()
      if (request.method === 'POST') seen.push({ headers: request.headers, body })
      response.end('<DeleteResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"></DeleteResult>')
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const address = server.address()
    const port = typeof address === 'object' && address ? address.port : 0
    await open({ endpoint: `http://127.0.0.1:${port}` }).delete(['a', 'b'])
    const [deletion] = seen
    const { createHash } = await import('node:crypto')
    const md5 = createHash('md5')
      .update(deletion?.body ?? '')
      .digest('base64')
    expect(deletion?.headers['content-md5']).toBe(md5)
    expect(Object.keys(deletion?.headers ?? {}).filter((name) => name.includes('checksum'))).toEqual([])
    expect(deletion?.headers.authorization).toContain('content-md5')
    server.closeAllConnections()
    server.close()
  })

  it('tells when S3 could not delete some of them', async () => {
    const server = createServer((_request, response) => {
      response.end(
        '<DeleteResult><Error><Key>a</Key><Code>AccessDenied</Code><Message>No</Message></Error></DeleteResult>',
      )
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const address = server.address()
    const port = typeof address === 'object' && address ? address.port : 0
    const deleting = open({ endpoint: `http://127.0.0.1:${port}` }).delete(['a', 'b'])
    await expect(deleting).rejects.toThrow(
      'Could not delete from the bucket details: No (AccessDenied, 1 objects)',
    )
    server.closeAllConnections()
    server.close()
  })

  it('gives up unfinished uploads that are old enough, and only under its prefix', async () => {
    const begin = (Key: string) =>
      bucket.client.send(new CreateMultipartUploadCommand({ Bucket: bucket.options.bucket, Key }))
    await Promise.all(['mine/a', 'mine/a', 'mine/b', 'theirs/c'].map(begin))
    const store = open({ prefix: 'mine' })
    expect(await store.abandonUploads(60_000)).toBe(0)
    expect(await bucket.unfinished()).toHaveLength(4)
    expect(await store.abandonUploads(0)).toBe(3)
    expect((await bucket.unfinished()).map(({ key }) => key)).toEqual(['theirs/c'])
    expect(await open().abandonUploads(0)).toBe(1)
    expect(await store.abandonUploads(0)).toBe(0)
  })

  it('uses one request for a small body and parts for a large one', async () => {
    const etagOf = async (key: string) =>
      (await bucket.client.send(new HeadObjectCommand({ Bucket: bucket.options.bucket, Key: key }))).ETag
    const store = open()
    await put(store, 'small', madeBytes(5 * MIB))
    await put(store, 'large', madeBytes(12 * MIB))
    expect(await etagOf('small')).toMatch(/^"[0-9a-f]{32}"$/)
    expect(await etagOf('large')).toMatch(/^"[0-9a-f]{32}-3"$/)
    const listed = await bucket.client.send(
      new ListObjectsV2Command({ Bucket: bucket.options.bucket, Prefix: 'large' }),
    )
    expect(listed.Contents?.[0]?.Size).toBe(12 * MIB)
    const [url = ''] = await store.signUrls(['large'], { expiresInMs: 60_000 })
    expect(sha256(Buffer.from(await (await fetch(url)).arrayBuffer()))).toBe(sha256(madeBytes(12 * MIB)))
  })
})
