import { createHash, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createReadStream, createWriteStream } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { jwtVerify, SignJWT } from 'jose'
import { collect } from './collect.ts'

export interface SupabaseStorageDouble {
  url: string
  serviceKey: string
  bucket: string
  /** Method and path of each request so far. */
  requests: string[]
  close(): Promise<void>
}

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

const PREFIX = '/storage/v1/object/'

/**
 * Speaks the REST contract of Supabase Storage, as far as supabase-js is used here: uploads, info, signed URLs with
 * tokens of their own, batches of deletes, paged lists. Files are on disk, since tests look at the memory.
 */
export async function startSupabaseStorageDouble(): Promise<SupabaseStorageDouble> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-supabase-'))
  const bucket = 'results'
  const signingKey = new TextEncoder().encode(randomUUID() + randomUUID())
  const serviceKey = await new SignJWT({ role: 'service_role' })
    .setProtectedHeader({ alg: 'HS256' })
    .setIssuedAt()
    .sign(signingKey)
  const kept = new Map<string, Kept>()
  const requests: string[] = []

  async function upload(key: string, request: IncomingMessage) {
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
    const contentType = request.headers['content-type'] ?? 'application/octet-stream'
    kept.set(key, { file, bytes, contentType, etag: `"${hash.digest('hex')}"` })
    return { Id: randomUUID(), Key: `${bucket}/${key}` }
  }

  function info(key: string) {
    const { bytes, contentType, etag } = find(key)
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

  function find(key: string): Kept {
    const found = kept.get(key)
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

  async function signAll(body: unknown) {
    const { paths, expiresIn } = body as { paths: string[]; expiresIn: number }
    if (!Number.isInteger(expiresIn) || expiresIn < 1 || paths.length < 1 || paths.length > 1_000) {
      throw new Refusal(400, 'InvalidRequest', 'body/expiresIn or body/paths is not valid')
    }
    const error = 'Either the object does not exist or you do not have access to it'
    return Promise.all(
      paths.map(async (path) =>
        kept.has(path)
          ? { error: null, path, signedURL: await sign(path, expiresIn) }
          : { error, path, signedURL: null },
      ),
    )
  }

  function removeAll(body: unknown) {
    const { prefixes } = body as { prefixes: string[] }
    if (prefixes.length > 1_000) throw new Refusal(400, 'InvalidRequest', 'At most 1000 objects')
    return prefixes.filter((name) => kept.delete(name)).map((name) => ({ name, bucket_id: bucket }))
  }

  function list(body: unknown) {
    const {
      prefix = '',
      limit = 1_000,
      cursor,
    } = body as { prefix?: string; limit?: number; cursor?: string }
    const after = cursor ? Buffer.from(cursor, 'base64').toString() : ''
    const names = [...kept.keys()].filter((name) => name.startsWith(prefix) && name > after).sort()
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
    const { file, bytes, contentType, etag } = find(key)
    const [, first, last] = /^bytes=(\d*)-(\d*)$/.exec(request.headers.range ?? '') ?? []
    const start = first ? Number(first) : last ? Math.max(0, bytes - Number(last)) : 0
    const end = first && last ? Math.min(Number(last) + 1, bytes) : bytes
    const partial = Boolean(first || last)
    if (partial && start >= bytes)
      throw new Refusal(416, 'InvalidRange', 'invalid range', 'invalid_range', 416)
    response.writeHead(partial ? 206 : 200, {
      'accept-ranges': 'bytes',
      'content-type': contentType,
      'content-length': end - start,
      etag,
      ...(partial ? { 'content-range': `bytes ${start}-${end - 1}/${bytes}` } : {}),
    })
    if (request.method === 'HEAD' || start === end) return response.end()
    await pipeline(createReadStream(file, { start, end: end - 1 }), response)
  }

  function checkKey(request: IncomingMessage): void {
    const { apikey, authorization } = request.headers
    // The gateway in front of it knows the keys; the service itself reads the token.
    if (apikey === undefined)
      throw new Refusal(401, 'AccessDenied', 'No API key found in request', 'error', 401)
    if (apikey !== serviceKey) throw new Refusal(401, 'AccessDenied', 'Invalid API key', 'error', 401)
    if (authorization !== `Bearer ${serviceKey}`) throw new Refusal(403, 'InvalidJWT', 'Invalid Compact JWS')
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<unknown> {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://double')
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
    checkKey(request)
    if (name !== bucket) throw new Refusal(404, 'NoSuchBucket', 'Bucket not found', 'Bucket not found')
    if (route === 'POST object/key' || route === 'PUT object/key') return upload(key, request)
    if (route === 'GET info/key') return info(key)
    const body = JSON.parse(Buffer.concat(await collect(request)).toString() || '{}')
    if (route === 'POST sign') return signAll(body)
    if (route === 'POST sign/key') return { signedURL: find(key) && (await sign(key, body.expiresIn)) }
    if (route === 'POST list-v2') return list(body)
    if (route === 'DELETE object') return removeAll(body)
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
    bucket,
    requests,
    async close() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
      await rm(folder, { recursive: true, force: true })
    },
  }
}
