import { createHmac, hash, randomBytes, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { TEST_SECRET } from '../../packages/server/test/test-tokens.ts'

/** A submitted task, checked, before it is a row. */
export interface NewTask {
  id: string
  userId: string
  key: string
  bodyHash: string
  type: string
  params: { prompt: string }
}

export interface FoundTask {
  status: string
  /** Of its one file; null while there is none. */
  fileState: string | null
}

interface TaskStore {
  /** Resolves when the row is committed. `conflict`: the key was used for something else. */
  create(task: NewTask): Promise<{ id: string; createdAt: Date; isNew: boolean } | 'conflict'>
  find(userId: string, id: string): Promise<FoundTask | null>
}

/** The front of everything that is written by hand: the same two routes, checks and answers as Holdfast's. */
export function serveTasks({ create, find }: TaskStore): void {
  const authenticate = rememberTokens()

  async function answer(request: IncomingMessage, text: string): Promise<[number, unknown]> {
    const userId = authenticate(request.headers.authorization ?? '')
    if (!userId) return [401, { code: 'UNAUTHENTICATED' }]
    if (request.method === 'GET') {
      const found = await find(userId, (request.url ?? '').split('/')[3] ?? '')
      if (!found) return [404, { code: 'NOT_FOUND' }]
      const { status, fileState } = found
      return [200, { task: { status, result: fileState ? { outputs: [{ state: fileState }] } : null } }]
    }
    const key = request.headers['idempotency-key']
    const { type, params } = JSON.parse(text) as Partial<NewTask>
    if (typeof key !== 'string' || typeof type !== 'string' || typeof params?.prompt !== 'string') {
      return [400, { code: 'INVALID_REQUEST' }]
    }
    const created = await create({ id: newId(), userId, key, bodyHash: hash('sha256', text), type, params })
    if (created === 'conflict') return [409, { code: 'KEY_REUSED' }]
    const { id, createdAt, isNew } = created
    return [
      isNew ? 201 : 200,
      { task: { id, type, params, status: 'pending', progress: null, result: null, createdAt } },
    ]
  }

  function send(response: ServerResponse, status: number, body: unknown): void {
    const text = JSON.stringify(body)
    response.writeHead(status, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(text),
    })
    response.end(text)
  }

  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      answer(request, Buffer.concat(chunks).toString()).then(
        ([status, body]) => send(response, status, body),
        (error: unknown) => {
          console.error(error)
          send(response, 500, { code: 'INTERNAL' })
        },
      )
    })
  })
  // Callers pause for longer than the five seconds of Node's default.
  server.keepAliveTimeout = 600_000
  server.listen(0, '127.0.0.1', () => {
    console.log(JSON.stringify({ port: (server.address() as AddressInfo).port }))
  })
  process.once('SIGTERM', () => process.exit(0))
  process.stdin.resume().once('end', () => process.exit(0))
}

/** HS256, verified once for each token and remembered until it expires. */
function rememberTokens(): (authorization: string) => string | null {
  const known = new Map<string, { userId: string; until: number }>()
  return (authorization) => {
    const remembered = known.get(authorization)
    if (remembered && remembered.until > Date.now()) return remembered.userId
    const [head = '', payload = '', signature = ''] = authorization.slice('Bearer '.length).split('.')
    const expected = createHmac('sha256', TEST_SECRET).update(`${head}.${payload}`).digest()
    const given = Buffer.from(signature, 'base64url')
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) return null
    const { sub, exp }: { sub: string; exp: number } = JSON.parse(
      Buffer.from(payload, 'base64url').toString(),
    )
    if (exp * 1_000 <= Date.now()) return null
    known.set(authorization, { userId: sub, until: exp * 1_000 })
    return sub
  }
}

/** A UUID of version 7: new rows come at the end of the index. */
function newId(): string {
  const bytes = randomBytes(16)
  bytes.writeUIntBE(Date.now(), 0, 6)
  bytes.writeUInt8(((bytes[6] ?? 0) & 0x0f) | 0x70, 6)
  bytes.writeUInt8(((bytes[8] ?? 0) & 0x3f) | 0x80, 8)
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}
