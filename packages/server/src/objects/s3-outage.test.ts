import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { collect } from '../../test/collect.ts'
import { inChunks, MIB, madeBytes, sha256 } from '../../test/made-bytes.ts'
import { startObjectPut } from '../../test/object-put-process.ts'
import { startTestRadosgw, type TestRadosgw } from '../../test/radosgw-for-tests.ts'
import { makeBucket, type TestBucket } from '../../test/s3-bucket.ts'
import { createS3Store, type S3Store } from './s3-store.ts'

const contentType = 'video/mp4'
const bytes = madeBytes(16 * MIB, 7)
const old = madeBytes(100_000, 8)

let gateway: TestRadosgw
let bucket: TestBucket
let store: S3Store
const others: S3Store[] = []
let sequence = 0

beforeAll(async () => {
  gateway = await startTestRadosgw()
}, 300_000)
beforeEach(async () => {
  bucket = await makeBucket(gateway, `outage-${++sequence}`)
  store = createS3Store(bucket.options)
})
afterEach(async () => {
  await Promise.all([store, ...others.splice(0)].map((each) => each.close()))
  bucket.client.destroy()
})
afterAll(() => gateway?.stop())

async function read(key: string): Promise<Buffer | null> {
  const [url = ''] = await store.signUrls([key], { expiresInMs: 60_000 })
  const response = await fetch(url)
  if (response.status === 404) return null
  expect(response.status).toBe(200)
  return Buffer.from(await response.arrayBuffer())
}

/** Looks at a key again and again, also while the gateway is away, and tells all that was ever seen there. */
function watch(key: string): () => Promise<Set<string>> {
  const seen = new Set<string>()
  let watching = true
  const look = async () => {
    while (watching) {
      const found = await store.head(key).catch(() => 'away' as const)
      if (found !== 'away') seen.add(found === null ? 'nothing' : `${found.bytes} bytes`)
      const listed = await collect(store.list(key)).catch(() => 'away' as const)
      if (listed !== 'away' && listed.length > 0 && found === null) {
        // Listed after it was looked for; by then it must be all there.
        const size = (await store.head(key).catch(() => null))?.bytes
        if (size !== undefined) seen.add(`${size} bytes`)
      }
    }
  }
  const looking = look()
  return async () => {
    watching = false
    await looking
    return seen
  }
}

describe('an S3 store whose gateway is killed in the middle of a put (Show 2)', () => {
  it('reports it, shows nothing of it, and a repeat arrives whole with nothing left behind', async () => {
    const stopWatching = watch('video')
    let killed: Promise<void> | undefined
    async function* body() {
      yield* inChunks(bytes.subarray(0, 11 * MIB))
      await expect.poll(() => bucket.parts(), { timeout: 10_000 }).toBeGreaterThan(0)
      killed = gateway.kill()
      await killed
      yield* inChunks(bytes.subarray(11 * MIB))
    }
    await expect(store.put('video', body(), { contentType })).rejects.toThrow(
      /Could not store video in the bucket .*(ECONNREFUSED|ECONNRESET|socket hang up)/,
    )
    await gateway.start()
    // The parts are there still: nobody could be told to remove them.
    expect(await bucket.unfinished()).toHaveLength(1)
    expect(await read('video')).toBeNull()

    await store.put('video', inChunks(bytes), { contentType, bytes: bytes.byteLength })
    expect(sha256((await read('video')) ?? Buffer.alloc(0))).toBe(sha256(bytes))
    expect(await bucket.unfinished()).toEqual([])
    expect([...(await stopWatching())].sort()).toEqual([`${bytes.byteLength} bytes`, 'nothing'])
  }, 60_000)

  it('keeps what was there before, whenever it happens, and says what is true', async () => {
    for (const killAt of [0, 2 * MIB, 5 * MIB + 70_000, 12 * MIB, 16 * MIB - 1]) {
      const key = `at-${killAt}`
      await store.put(key, inChunks(old), { contentType: 'image/png' })
      const stopWatching = watch(key)
      let killed: Promise<void> | undefined
      async function* body() {
        yield* inChunks(bytes.subarray(0, killAt))
        // Not waited for: requests are under way while it dies.
        killed = gateway.kill()
        yield* inChunks(bytes.subarray(killAt))
      }
      const outcome = await store.put(key, body(), { contentType }).then(
        () => 'stored',
        () => 'refused',
      )
      await killed
      await gateway.start()
      const found = sha256((await read(key)) ?? Buffer.alloc(0))
      expect(found, key).toBe(sha256(outcome === 'stored' ? bytes : old))

      await store.put(key, inChunks(bytes), { contentType })
      expect(sha256((await read(key)) ?? Buffer.alloc(0)), key).toBe(sha256(bytes))
      const seen = await stopWatching()
      expect(
        [...seen].filter((each) => ![`${old.length} bytes`, `${bytes.length} bytes`].includes(each)),
      ).toEqual([])
    }
    // Only an upload of whose beginning we never heard can be left, and it is found by its age.
    await store.abandonUploads(0)
    expect(await bucket.unfinished()).toEqual([])
  }, 120_000)
})

describe('an S3 store that does not hear the answer to its last request', () => {
  it('has the old or the new object, whole, and a repeat settles it', async () => {
    const { port, lost, close } = await startDeafProxy(gateway.endpoint)
    const deaf = createS3Store({ ...bucket.options, endpoint: `http://127.0.0.1:${port}` })
    others.push(deaf)
    await store.put('video', inChunks(old), { contentType: 'image/png' })
    const outcome = await deaf.put('video', inChunks(bytes), { contentType }).then(
      () => 'stored',
      () => 'refused',
    )
    expect(lost()).toBeGreaterThan(0)
    const found = sha256((await read('video')) ?? Buffer.alloc(0))
    if (outcome === 'stored') expect(found).toBe(sha256(bytes))
    else expect([sha256(old), sha256(bytes)]).toContain(found)

    await store.put('video', inChunks(bytes), { contentType })
    expect(sha256((await read('video')) ?? Buffer.alloc(0))).toBe(sha256(bytes))
    expect(await bucket.unfinished()).toEqual([])
    await close()
  }, 60_000)
})

/** Passes everything on, but cuts the connection when the first answer to the completion of an upload comes. */
async function startDeafProxy(endpoint: string) {
  const target = new URL(endpoint)
  const sockets = new Set<Socket>()
  let lost = 0
  const proxy = createServer((inside) => {
    const outside = connect(Number(target.port), target.hostname)
    let completing = false
    for (const socket of [inside, outside]) {
      sockets.add(socket)
      // What breaks here is what the test breaks.
      socket.on('error', () => {})
      socket.on('close', () => sockets.delete(socket))
    }
    inside.on('data', (data) => {
      const text = data.toString('latin1')
      completing = /^POST \S+uploadId=/.test(text)
      outside.write(data)
    })
    outside.on('data', (data) => {
      if (completing && lost === 0) {
        lost++
        inside.destroy()
        outside.destroy()
      } else inside.write(data)
    })
    inside.on('close', () => outside.destroy())
    outside.on('close', () => inside.destroy())
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  const address = proxy.address()
  return {
    port: typeof address === 'object' && address ? address.port : 0,
    lost: () => lost,
    async close() {
      const closed = once(proxy, 'close')
      proxy.close()
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}

describe('an S3 store whose process is killed in the middle of a put (Show 2)', () => {
  async function dieInTheMiddle(key: string): Promise<void> {
    const settings = { kind: 's3', ...bucket.options } as const
    const child = await startObjectPut({ settings, key, bytes: 11 * MIB })
    await expect.poll(() => bucket.parts(), { timeout: 10_000 }).toBeGreaterThan(0)
    await child.kill()
  }

  it('shows nothing of it; the repeat by another process arrives whole and clears the parts away', async () => {
    await dieInTheMiddle('video')
    expect(await bucket.unfinished()).toHaveLength(1)
    expect(await store.head('video')).toBeNull()
    expect(await collect(store.list(''))).toEqual([])

    // By default an upload counts as dead after some minutes; here, at once.
    const next = createS3Store({ ...bucket.options, staleUploadMs: 0 })
    others.push(next)
    await next.put('video', inChunks(bytes), { contentType })
    expect(sha256((await read('video')) ?? Buffer.alloc(0))).toBe(sha256(bytes))
    expect(await bucket.unfinished()).toEqual([])
  }, 60_000)

  it('leaves parts that a sweep finds, also when nobody repeats it', async () => {
    await dieInTheMiddle('never-again')
    await store.put('something-else', inChunks(bytes), { contentType })
    expect(await bucket.unfinished()).toHaveLength(1)
    expect(await store.abandonUploads(60 * 60_000)).toBe(0)
    expect(await store.abandonUploads(0)).toBe(1)
    expect(await bucket.unfinished()).toEqual([])
    expect(await store.head('never-again')).toBeNull()
  }, 60_000)
})
