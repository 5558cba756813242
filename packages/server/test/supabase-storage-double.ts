import { createHash, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { mkdtemp, open, rm } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { jwtVerify, SignJWT } from 'jose'
import { collect } from './collect.ts'

export interface SupabaseStorageDouble {
  url: string
  serviceKey: string
  /** Of the same project, as browsers have it: row-level security shows it nothing. */
  anonKey: string
  bucket: string
  /** What an operator sets; null removes the bucket, which keeps its objects until it is set again. */
  setBucket(settings: BucketSettings | null): void
  /** Method and path of each request so far. */
  requests: string[]
  close(): Promise<void>
}

export interface BucketSettings {
  public?: boolean
  fileSizeLimit?: number
  allowedTypes?: string[]
}

type Role = 'service_role' | 'anon'

interface Kept {
  file: string
  bytes: number
  contentType: string
  etag: string
}

/** What the service answers with: most errors are 400 outside and say what they are inside. */
class Refusal extends Error {
  readonly status: number
  readonly body: { statusCode: string; error: string; message: string; code: string }
  constructor(statusCode: number, code: string, message: string, error = code, status = 400) {
    super(message)
    this.status = status
    this.body = { statusCode: String(statusCode), error, message, code }
  }
}

const BUCKETS = '/storage/v1/bucket/'
const PREFIX = '/storage/v1/object/'

/**
 * Speaks the REST contract of Supabase Storage, as far as supabase-js is used here: uploads, info, signed URLs with
 * tokens of their own, batches of deletes, paged lists. Files are on disk, since tests look at the memory.
 *
 * It answers as version 1.11.2 does. Deletes, lists and signing look at rows that the key may see, and never at the
 * bucket: with the anon key, or without a bucket, they succeed and find nothing.
 */
export async function startSupabaseStorageDouble(): Promise<SupabaseStorageDouble> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-supabase-'))
  const bucket = 'results'
  const signingKey = new TextEncoder().encode(randomUUID() + randomUUID())
  const keyOf = (role: Role) =>
    new SignJWT({ role }).setProtectedHeader({ alg: 'HS256' }).setIssuedAt().sign(signingKey)
  const [serviceKey, anonKey] = await Promise.all([keyOf('service_role'), keyOf('anon')])
  const kept = new Map<string, Kept>()
  let settings: BucketSettings | null = {}
  const requests: string[] = []

  async function upload(key: string, role: Role, request: IncomingMessage) {
    const contentType = request.headers['content-type'] ?? 'application/octet-stream'
    const limit = settings?.fileSizeLimit ?? Number.POSITIVE_INFINITY
    if (settings?.allowedTypes && !settings.allowedTypes.includes(contentType)) {
      throw new Refusal(415, 'InvalidMimeType', `mime type ${contentType} is not supported`)
    }
    // Without a length nobody counts.
    if (Number(request.headers['content-length'] ?? 0) > limit) {
      throw new Refusal(413, 'EntityTooLarge', 'The object exceeded the maximum allowed size')
    }
    // That is how forms come, and there is none in it.
    if (contentType.startsWith('multipart/form-data')) {
      throw new Refusal(400, 'InvalidRequest', 'Unexpected end of form')
    }
    if (role === 'anon') {
      throw new Refusal(403, 'AccessDenied', 'new row violates row-level security policy', 'Unauthorized')
    }
    const exists = kept.has(key)
    if (request.method === 'POST' && exists && request.headers['x-upsert'] !== 'true') {
      throw new Refusal(409, 'ResourceAlreadyExists', 'The resource already exists', 'Duplicate')
    }
    const file = join(folder, randomUUID())
    const hash = createHash('md5')
    let bytes = 0
    try {
      await pipeline(
        request,
        async function* (chunks: AsyncIterable<Buffer>) {
          for await (const chunk of chunks) {
            hash.update(chunk)
            bytes += chunk.byteLength
            yield chunk
          }
        },
        createWriteStream(file),
      )
    } catch (error) {
      await rm(file, { force: true })
      throw error
    }
    const old = kept.get(key)
    kept.set(key, { file, bytes, contentType, etag: `"${hash.digest('hex')}"` })
    // Who has found the old one and not opened it yet is answered with a 500.
    if (old) await rm(old.file, { force: true })
    return { Id: randomUUID(), Key: `${bucket}/${key}` }
  }

  function info(key: string, role: Role) {
    const { bytes, contentType, etag } = find(key, role)
    const now = new Date().toISOString()
    return {
      id: randomUUID(),
      name: key,
      version: randomUUID(),
      bucket_id: bucket,
      size: bytes,
      content_type: contentType,
      cache_control: 'max-age=3600',
      etag,
      metadata: {},
      last_modified: now,
      created_at: now,
    }
  }

  /** Row-level security hides all from the anon key, and a bucket that is gone has no rows. */
  function visible(key: string, role: Role): Kept | undefined {
    return role === 'service_role' && settings ? kept.get(key) : undefined
  }

  function find(key: string, role: Role): Kept {
    const found = visible(key, role)
    if (!found) throw new Refusal(404, 'NoSuchKey', 'Object not found', 'not_found')
    return found
  }

  async function sign(key: string, expiresIn: number): Promise<string> {
    const seconds = Math.floor(Date.now() / 1_000)
    const token = await new SignJWT({ url: `${bucket}/${key}`, scope: 'download' })
      .setProtectedHeader({ alg: 'HS256' })
      .setIssuedAt(seconds)
      .setExpirationTime(seconds + expiresIn)
      .sign(signingKey)
    return `/object/sign/${bucket}/${key}?token=${token}`
  }

  async function signAll(body: unknown, role: Role) {
    const { paths, expiresIn } = body as { paths: string[]; expiresIn: number }
    if (!Number.isInteger(expiresIn) || expiresIn < 1 || paths.length < 1 || paths.length > 1_000) {
      throw new Refusal(400, 'InvalidRequest', 'body/expiresIn or body/paths is not valid')
    }
    const error = 'Either the object does not exist or you do not have access to it'
    return Promise.all(
      paths.map(async (path) =>
        visible(path, role)
          ? { error: null, path, signedURL: await sign(path, expiresIn) }
          : { error, path, signedURL: null },
      ),
    )
  }

  function removeAll(body: unknown, role: Role) {
    const { prefixes } = body as { prefixes: string[] }
    if (prefixes.length > 1_000) throw new Refusal(400, 'InvalidRequest', 'At most 1000 objects')
    return prefixes
      .filter((name) => visible(name, role) && kept.delete(name))
      .map((name) => ({ name, bucket_id: bucket }))
  }

  function list(body: unknown, role: Role) {
    const {
      prefix = '',
      limit = 1_000,
      cursor,
    } = body as { prefix?: string; limit?: number; cursor?: string }
    const after = cursor ? Buffer.from(cursor, 'base64').toString() : ''
    const names = [...kept.keys()]
      .filter((name) => visible(name, role) && name.startsWith(prefix) && name > after)
      .sort()
    const page = names.slice(0, Math.min(limit, 1_000))
    const hasNext = names.length > page.length
    return {
      hasNext,
      folders: [],
      objects: page.map((name) => ({ id: randomUUID(), name, metadata: { size: kept.get(name)?.bytes } })),
      ...(hasNext ? { nextCursor: Buffer.from(page.at(-1) ?? '').toString('base64') } : {}),
    }
  }

  async function serveSigned(key: string, token: string, request: IncomingMessage, response: ServerResponse) {
    const { payload } = await jwtVerify(token, signingKey).catch((error: Error) => {
      throw new Refusal(400, 'InvalidJWT', error.message)
    })
    if (payload.scope !== 'download' || payload.url !== `${bucket}/${key}`) {
      throw new Refusal(400, 'InvalidSignature', 'Invalid signature')
    }
    const { file, bytes, contentType, etag } = find(key, 'service_role')
    const opened = await open(file).catch((error: Error) => {
      throw new Refusal(500, 'InternalError', error.message, 'Internal', 500)
    })
    const [, first, last] = /^bytes=(\d*)-(\d*)$/.exec(request.headers.range ?? '') ?? []
    const start = first ? Number(first) : last ? Math.max(0, bytes - Number(last)) : 0
    const end = first && last ? Math.min(Number(last) + 1, bytes) : bytes
    const partial = Boolean(first || last)
    try {
      if (partial && start >= bytes)
        throw new Refusal(416, 'InvalidRange', 'invalid range', 'invalid_range', 416)
      response.writeHead(partial ? 206 : 200, {
        'accept-ranges': 'bytes',
        'content-type': contentType,
        'content-length': end - start,
        etag,
        ...(partial ? { 'content-range': `bytes ${start}-${end - 1}/${bytes}` } : {}),
      })
      if (request.method === 'HEAD' || start === end) response.end()
      else await pipeline(opened.createReadStream({ start, end: end - 1, autoClose: false }), response)
    } finally {
      await opened.close()
    }
  }

  /** Null for a key that is none of this project's. */
  async function roleOf(request: IncomingMessage): Promise<Role | null> {
    const token = request.headers.authorization?.replace(/^Bearer /, '') ?? ''
    const verified = await jwtVerify(token, signingKey).catch(() => null)
    const role = verified?.payload.role
    return role === 'service_role' || role === 'anon' ? role : null
  }

  function describeBucket(name: string | undefined, role: Role) {
    if (name !== bucket || !settings || role === 'anon') {
      throw new Refusal(404, 'NoSuchBucket', 'Bucket not found', 'Bucket not found')
    }
    return {
      id: bucket,
      name: bucket,
      public: settings.public ?? false,
      file_size_limit: settings.fileSizeLimit ?? null,
      allowed_mime_types: settings.allowedTypes ?? null,
    }
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<unknown> {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://double')
    const role = await roleOf(request)
    const refused = new Refusal(403, 'AccessDenied', 'signature verification failed', 'Unauthorized')
    if (pathname.startsWith(BUCKETS) && request.method === 'GET') {
      if (!role) throw refused
      return describeBucket(pathname.slice(BUCKETS.length), role)
    }
    if (!pathname.startsWith(PREFIX)) throw new Refusal(404, 'NotFound', 'Route not found', 'Not Found', 404)
    const [head = '', ...rest] = pathname.slice(PREFIX.length).split('/')
    const verb = ['info', 'sign', 'list-v2'].includes(head) ? head : 'object'
    const [name, ...segments] = verb === 'object' ? [head, ...rest] : rest
    const key = segments.join('/')
    const route = `${request.method} ${verb}${key ? '/key' : ''}`
    if (route === 'GET sign/key' || route === 'HEAD sign/key') {
      const token = searchParams.get('token')
      if (!token) throw new Refusal(400, 'InvalidRequest', "querystring must have required property 'token'")
      return serveSigned(key, token, request, response)
    }
    const isThere = name === bucket && settings !== null
    const noBucket = new Refusal(404, 'NoSuchBucket', 'Bucket not found', 'Bucket not found')
    if (route === 'GET info/key') {
      // Asked without a good key it looks for a public bucket, and there is none.
      if (!role || !isThere) throw noBucket
      return info(key, role)
    }
    if (!role) throw refused
    if (route === 'POST object/key' || route === 'PUT object/key') {
      if (!isThere) throw noBucket
      return upload(key, role, request)
    }
    const seenAs = isThere ? role : 'anon'
    const body = JSON.parse(Buffer.concat(await collect(request)).toString() || '{}')
    if (route === 'POST sign') return signAll(body, seenAs)
    if (route === 'POST sign/key') {
      return { signedURL: find(key, seenAs) && (await sign(key, body.expiresIn)) }
    }
    if (route === 'POST list-v2') return list(body, seenAs)
    if (route === 'DELETE object') return removeAll(body, seenAs)
    throw new Refusal(404, 'NotFound', `Route ${route} not found`, 'Not Found', 404)
  }

  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url?.split('?')[0]}`)
    answer(request, response)
      .then((body) => {
        if (!response.headersSent) response.writeHead(200, { 'content-type': 'application/json' })
        if (!response.writableEnded) response.end(JSON.stringify(body))
      })
      .catch((error: unknown) => {
        // Cut off by the caller, who hears nothing any more.
        if (response.headersSent || request.errored) return response.destroy()
        const { status, body } =
          error instanceof Refusal ? error : new Refusal(500, 'InternalError', String(error), 'Internal', 500)
        response.writeHead(status, { 'content-type': 'application/json', connection: 'close' })
        response.end(JSON.stringify(body))
      })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  return {
    url: `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`,
    serviceKey,
    anonKey,
    bucket,
    requests,
    setBucket(next) {
      settings = next
    },
    async close() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
      await rm(folder, { recursive: true, force: true })
    },
  }
}
