import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { inspect } from 'node:util'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { collect } from '../../test/collect.ts'
import { freePort } from '../../test/free-port.ts'
import { hangingAfter, inChunks, MIB, madeBytes } from '../../test/made-bytes.ts'
import { createMemoryLog } from '../../test/memory-log.ts'
import { describeObjectStore } from '../../test/object-store-conformance.ts'
import { type SupabaseStorageDouble, startSupabaseStorageDouble } from '../../test/supabase-storage-double.ts'
import { createSupabaseStore, type SupabaseStore, type SupabaseStoreOptions } from './supabase-store.ts'

describeObjectStore('Supabase store', async () => {
  const service = await startSupabaseStorageDouble()
  const others: SupabaseStorageDouble[] = []
  const { url, bucket, serviceKey } = service
  const store = createSupabaseStore({ url, bucket, serviceKey })
  const stranger = createSupabaseStore({ url, bucket, serviceKey: `${serviceKey.slice(0, -2)}xx` })
  return {
    store,
    stranger,
    async doomed() {
      const doomed = await startSupabaseStorageDouble()
      others.push(doomed)
      return {
        store: createSupabaseStore({ url: doomed.url, bucket, serviceKey: doomed.serviceKey }),
        takeAway: async () => doomed.setBucket(null),
      }
    },
    async stop() {
      await Promise.all([store.close(), store.close(), stranger.close()])
      await Promise.all([service, ...others].map((each) => each.close()))
    },
  }
})

describe('a Supabase store', () => {
  let service: SupabaseStorageDouble
  const servers: Server[] = []
  beforeAll(async () => {
    service = await startSupabaseStorageDouble()
  })
  afterEach(() => {
    for (const server of servers.splice(0)) {
      server.closeAllConnections()
      server.close()
    }
  })
  afterAll(() => service?.close())

  const open = (options: Partial<SupabaseStoreOptions> = {}) => {
    const { url, bucket, serviceKey } = service
    return createSupabaseStore({ url, bucket, serviceKey, ...options })
  }
  const put = (store: SupabaseStore, key: string, bytes = madeBytes(10)) =>
    store.put(key, inChunks(bytes), { contentType: 'image/png' })

  async function serve(listener: Parameters<typeof createServer>[1]): Promise<string> {
    const server = createServer(listener)
    servers.push(server)
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const address = server.address()
    return `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`
  }

  it('signs many with few calls, and asks again only when it has to', async () => {
    const hour = 60 * 60_000
    let now = Date.now()
    const store = open({ now: () => now })
    const keys = Array.from({ length: 1_200 }, (_, n) => `many/${n}`)
    for (let at = 0; at < keys.length; at += 50) {
      await Promise.all(keys.slice(at, at + 50).map((key) => put(store, key)))
    }
    service.requests.length = 0
    const first = await store.signUrls(keys, { expiresInMs: 24 * hour })
    expect(service.requests).toEqual(Array(2).fill(`POST /storage/v1/object/sign/${service.bucket}`))
    expect(new Set(first).size).toBe(keys.length)

    now += hour / 2
    expect(await store.signUrls(keys, { expiresInMs: 24 * hour })).toEqual(first)
    expect(service.requests).toHaveLength(2)
    // Another life is another URL, and so is one after a while.
    await store.signUrls(['many/7'], { expiresInMs: hour })
    expect(service.requests).toHaveLength(3)
    now += hour
    await store.signUrls(['many/8', 'many/8', 'many/9'], { expiresInMs: 24 * hour })
    expect(service.requests).toHaveLength(4)
  }, 30_000)

  it('signs for what is not there with a URL that leads nowhere, and anew when it is there', async () => {
    const store = open()
    await put(store, 'here')
    const [there, missing = ''] = await store.signUrls(['here', 'not-yet'], { expiresInMs: 60_000 })
    expect((await fetch(there ?? '')).status).toBe(200)
    expect((await fetch(missing)).status).toBe(400)
    await put(store, 'not-yet')
    const [found = ''] = await store.signUrls(['not-yet'], { expiresInMs: 60_000 })
    expect((await fetch(found)).status).toBe(200)
    await store.delete(['not-yet'])
    const [gone = ''] = await store.signUrls(['not-yet'], { expiresInMs: 60_000 })
    expect(gone).toBe(missing)
  })

  it('is refused with another key, and says so without it (S3)', async () => {
    await put(open(), 'kept')
    const serviceKey = 'a-key-that-must-not-be-seen'
    const stranger = open({ serviceKey })
    const { log, lines } = createMemoryLog()
    const attempts = [
      () => put(stranger, 'kept', madeBytes(20)),
      () => put(stranger, 'large', madeBytes(6 * MIB)),
      () => stranger.head('kept'),
      () => stranger.delete(['kept']),
      () => collect(stranger.list('')),
      () => stranger.signUrls(['kept'], { expiresInMs: 60_000 }),
    ]
    for (const attempt of attempts) {
      const error: Error = await attempt().then(
        () => new Error('it was let in'),
        (refusal) => refusal,
      )
      expect(error.message).toMatch(/^Could not .* the bucket results of Supabase: /)
      expect(inspect(error, { depth: 9, showHidden: true })).not.toContain(serviceKey)
      log.error({ err: error }, 'refused')
    }
    expect(lines).toHaveLength(attempts.length)
    expect(lines.join()).not.toContain(serviceKey)
    expect(await open().head('kept')).toEqual({ bytes: 10, contentType: 'image/png' })
  })

  it('keeps its key out of what others say', async () => {
    const { serviceKey } = service
    const url = await serve((request, response) => {
      response.writeHead(400, { 'content-type': 'application/json' })
      response.end(
        JSON.stringify({ statusCode: '400', error: 'x', message: `${request.headers.authorization}?` }),
      )
    })
    const error = await open({ url })
      .head('a')
      .catch((refusal: Error) => refusal)
    expect(inspect(error)).toContain('Bearer [secret]?')
    expect(inspect(error, { depth: 9, showHidden: true })).not.toContain(serviceKey)
    expect(() => open({ serviceKey: 'line\nbreak' })).toThrow('characters in it that no key has')
    expect(() => open({ serviceKey: 'line\nbreak' })).not.toThrow('line')
  })

  it('does not follow where somebody else points, with its key', async () => {
    let followed = false
    const elsewhere = await serve((_request, response) => {
      followed = true
      response.end('{}')
    })
    const url = await serve((_request, response) => {
      response.writeHead(307, { location: elsewhere }).end()
    })
    await expect(open({ url }).head('a')).rejects.toThrow('Could not look for a in')
    await expect(put(open({ url }), 'a')).rejects.toThrow('Could not store a in')
    expect(followed).toBe(false)
  })

  it('tells a bucket that is not there from an object that is not', async () => {
    const store = open({ bucket: 'nowhere' })
    await expect(store.head('a')).rejects.toThrow('There is no bucket "nowhere"')
    await expect(put(store, 'a')).rejects.toThrow('There is no bucket "nowhere"')
    expect(await open().head('a')).toBeNull()
    // Older versions of the service have no codes.
    const url = await serve((request, response) => {
      if (request.url?.endsWith('/bucket/results')) return response.end('{"name":"results","public":false}')
      const what = request.url?.includes('/nowhere') ? 'Bucket' : 'Object'
      response.writeHead(400, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ statusCode: '404', error: 'not_found', message: `${what} not found` }))
    })
    expect(await open({ url }).head('a')).toBeNull()
    await expect(open({ url, bucket: 'nowhere' }).head('a')).rejects.toThrow('There is no bucket')
  })

  it('succeeds at nothing with the anon key, and names the setting', async () => {
    await put(open(), 'kept')
    const store = open({ serviceKey: service.anonKey })
    const attempts = [
      () => store.check(),
      () => store.delete(['kept']),
      () => collect(store.list('')),
      () => store.signUrls(['kept'], { expiresInMs: 60_000 }),
      () => store.head('kept'),
      () => put(store, 'new'),
    ]
    for (const attempt of attempts) {
      await expect(attempt()).rejects.toMatchObject({
        code: 'STORE_UNUSABLE',
        message: expect.stringMatching(/no bucket "results".*SUPABASE_BUCKET.*SUPABASE_SERVICE_KEY/),
      })
    }
    expect(await open().head('kept')).toEqual({ bytes: 10, contentType: 'image/png' })
    expect(await open().head('new')).toBeNull()
  })

  it('asks for the bucket once, and again only before it believes that there is nothing', async () => {
    const store = open()
    const looks = () => service.requests.filter((request) => request.startsWith('GET /storage/v1/bucket/'))
    service.requests.length = 0
    await put(store, 'counted/a')
    await put(store, 'counted/b')
    await store.signUrls(['counted/a', 'never-there'], { expiresInMs: 60_000 })
    await store.delete(['counted/a', 'never-there'])
    expect(await collect(store.list('counted/'))).toEqual(['counted/b'])
    expect(looks()).toHaveLength(1)
    await store.delete(['never-there'])
    expect(looks()).toHaveLength(2)
    expect(await collect(store.list('never-there/'))).toEqual([])
    expect(looks()).toHaveLength(3)
    expect(await store.head('never-there')).toBeNull()
    expect(looks()).toHaveLength(4)
  })

  it('is told of a bucket that vanishes or a key that is withdrawn while it is in use', async () => {
    const other = await startSupabaseStorageDouble()
    try {
      const { url, bucket, serviceKey } = other
      let key = serviceKey
      const store = createSupabaseStore({
        ...{ url, bucket, serviceKey },
        fetch: (input, init) => {
          const headers = new Headers(init?.headers)
          headers.set('authorization', `Bearer ${key}`)
          return fetch(input, { ...init, headers })
        },
      })
      await put(store, 'a')
      other.setBucket(null)
      await expect(store.delete(['a'])).rejects.toThrow('There is no bucket "results"')
      other.setBucket({})
      await store.signUrls(['a'], { expiresInMs: 60_000 })
      key = 'withdrawn'
      // For a file the service itself says only that there is no such bucket.
      await expect(store.head('a')).rejects.toThrow(/SUPABASE_SERVICE_KEY.*signature verification failed/)
      await expect(store.delete(['a'])).rejects.toThrow('SUPABASE_SERVICE_KEY')
      await expect(put(store, 'a')).rejects.toThrow('SUPABASE_SERVICE_KEY')
      key = serviceKey
      expect(await store.head('a')).toEqual({ bytes: 10, contentType: 'image/png' })
    } finally {
      await other.close()
    }
  })

  it('refuses a public bucket, since anybody could read what is in it', async () => {
    const other = await startSupabaseStorageDouble()
    try {
      const { url, bucket, serviceKey } = other
      other.setBucket({ public: true })
      const store = createSupabaseStore({ url, bucket, serviceKey })
      const refusal = { code: 'STORE_UNUSABLE', message: expect.stringMatching(/"results".*public.*private/) }
      await expect(store.check()).rejects.toMatchObject(refusal)
      await expect(put(store, 'a')).rejects.toMatchObject(refusal)
      // Made private, it can be used at once.
      other.setBucket({ public: false })
      await put(store, 'a')
      expect(await store.head('a')).not.toBeNull()
    } finally {
      await other.close()
    }
  })

  it('says which file the bucket does not take, however its length was told', async () => {
    const other = await startSupabaseStorageDouble()
    try {
      const { url, bucket, serviceKey } = other
      other.setBucket({ fileSizeLimit: 1_000, allowedTypes: ['image/png'] })
      const store = createSupabaseStore({ url, bucket, serviceKey })
      const options = { contentType: 'image/png' }
      const large = madeBytes(3_000)
      const tooLarge = { code: 'STORE_REFUSED', message: expect.stringContaining('1000 bytes') }
      await expect(store.put('a', inChunks(large), { ...options, bytes: 3_000 })).rejects.toMatchObject(
        tooLarge,
      )
      // The service itself would take it: it counts nothing that comes without a length.
      await expect(store.put('a', inChunks(large), options)).rejects.toMatchObject(tooLarge)
      await expect(
        store.put('a', inChunks(madeBytes(10)), { contentType: 'video/mp4', bytes: 10 }),
      ).rejects.toMatchObject({ code: 'STORE_REFUSED', message: expect.stringContaining('video/mp4') })
      expect(await collect(store.list(''))).toEqual([])
      await put(store, 'a')
      expect(await store.head('a')).toEqual({ bytes: 10, contentType: 'image/png' })
    } finally {
      await other.close()
    }
  })

  it('looks again where the service failed for a moment', async () => {
    let failures = 2
    const store = open({
      fetch: async (input, init) => {
        if (String(input).includes('/object/info/') && failures-- > 0) {
          return Response.json({ statusCode: '500', error: 'Internal', message: 'x' }, { status: 500 })
        }
        return fetch(input, init)
      },
    })
    await put(store, 'once-more')
    expect(await store.head('once-more')).toEqual({ bytes: 10, contentType: 'image/png' })
    failures = 100
    await expect(store.head('once-more')).rejects.toThrow('Could not look for once-more')
  })

  it('says that nobody answers, and lets go of the body', async () => {
    const store = open({ url: `http://127.0.0.1:${await freePort()}` })
    const { body, ended } = hangingAfter(madeBytes(MIB))
    await expect(store.put('a', body, { contentType: 'video/mp4' })).rejects.toThrow(
      /Could not store .*ECONNREFUSED/,
    )
    await expect.poll(ended).toBe(true)
    await expect(store.head('a')).rejects.toThrow(/Could not look for a in .*ECONNREFUSED/)
  })

  it('can be given up while the other side says nothing', async () => {
    const heard: (() => void)[] = []
    const url = await serve(() => heard.shift()?.())
    const store = open({ url })
    const reason = new Error('given up')
    const attempts: ((signal: AbortSignal) => Promise<unknown>)[] = [
      (signal) => store.put('a', inChunks(madeBytes(100)), { contentType: 'image/png', signal }),
      (signal) => store.head('a', signal),
      (signal) => store.delete(['a'], signal),
      (signal) => collect(store.list('', signal)),
    ]
    for (const attempt of attempts) {
      const leaving = new AbortController()
      const asked = new Promise<void>((resolve) => heard.push(resolve))
      const given = expect(attempt(leaving.signal)).rejects.toBe(reason)
      await asked
      leaving.abort(reason)
      await given
    }
  })

  it('tells the length where it is known', async () => {
    const lengths: (string | undefined)[] = []
    const url = await serve((request, response) => {
      if (request.url?.endsWith('/bucket/results')) return response.end('{"name":"results","public":false}')
      lengths.push(request.headers['content-length'])
      request.resume().on('end', () => response.end('{"Id":"1","Key":"k"}'))
    })
    const store = open({ url })
    await store.put('a', inChunks(madeBytes(300_000)), { contentType: 'image/png', bytes: 300_000 })
    await store.put('a', inChunks(madeBytes(300_000)), { contentType: 'image/png' })
    expect(lengths).toEqual(['300000', undefined])
  })
})
