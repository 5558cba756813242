import { createServer } from 'node:http'
import type { Problem } from '@holdfast/shared'
import { createHoldfast, type Holdfast, type HoldfastConfig } from '../src/create-holdfast.ts'
import type { Sql } from '../src/database/connect.ts'
import { createMemoryLog } from './memory-log.ts'
import { createScriptedProvider, type Script, type ScriptedProvider } from './scripted-provider.ts'
import { scriptedTypes } from './scripted-types.ts'
import { createTestDatabase } from './test-database.ts'
import { signToken, testAuth } from './test-tokens.ts'

const SERVICE_KEY = 'the-service-key-of-the-tests-32-characters'

export interface Answer<T = unknown> {
  status: number
  headers: Headers
  /** The JSON of the answer; null where there is none. */
  body: T
}

export type Call = <T = unknown>(
  method: string,
  path: string,
  options?: { json?: unknown; body?: BodyInit; headers?: Record<string, string> },
) => Promise<Answer<T>>

export interface TestHoldfast {
  holdfast: Holdfast
  provider: ScriptedProvider
  /** Not through the server's own pool: also works while that is cut off. */
  sql: Sql
  logLines: string[]
  /** Calls with a good token of that user. */
  as(userId: string): Call
  /** Calls with a service key, for that user. */
  asApp(userId: string): Call
  /** Calls with whatever headers are given. */
  call: Call
  /** Opens `GET /v1/stream`. */
  openStream(userId: string, options?: { headers?: Record<string, string>; exp?: number }): Promise<Response>
  /** Listens on a free port of 127.0.0.1. */
  listen(): Promise<string>
  stop(): Promise<void>
}

export interface TestHoldfastOptions extends Partial<Omit<HoldfastConfig, 'database'>> {
  script?: Script
  /** What the server connects to, made of the address of its own new database. */
  throughUrl?: (url: string) => Promise<string>
  /** Run the engine. @default false */
  engineRuns?: boolean
}

/** The whole server on a database of its own, with a provider that does as the test says. */
export async function startTestHoldfast(options: TestHoldfastOptions = {}): Promise<TestHoldfast> {
  const { script, throughUrl, engineRuns = false, ...config } = options
  const database = await createTestDatabase()
  const provider = createScriptedProvider(script)
  const { log, lines } = createMemoryLog()
  const holdfast = createHoldfast({
    database: (await throughUrl?.(database.url)) ?? database.url,
    auth: testAuth,
    providers: [provider],
    types: scriptedTypes(provider.name),
    log,
    // Tests ask more often than anybody would.
    requestsPerMinute: { user: 1_000_000, address: 1_000_000 },
    serviceKeys: [SERVICE_KEY],
    ...config,
    engine: { idleMs: 10, stopWithinMs: 2_000, ...config.engine },
  })
  if (engineRuns) await holdfast.start()
  const closing: (() => Promise<void>)[] = []

  const call: Call = async <T>(
    method: string,
    path: string,
    { json, body, headers }: Parameters<Call>[2] = {},
  ) => {
    const response = await holdfast.app.request(path, {
      method,
      headers: { ...(json === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      ...(json === undefined ? {} : { body: JSON.stringify(json) }),
      ...(body === undefined ? {} : { body }),
    })
    const text = await response.text()
    return {
      status: response.status,
      headers: response.headers,
      body: (text === '' ? null : JSON.parse(text)) as T,
    }
  }

  return {
    holdfast,
    provider,
    sql: database.sql,
    logLines: lines,
    call,
    as: (userId) => async (method, path, given) =>
      call(method, path, {
        ...given,
        headers: { authorization: `Bearer ${await signToken(userId)}`, ...given?.headers },
      }),
    asApp: (userId) => (method, path, given) =>
      call(method, `${path}?userId=${encodeURIComponent(userId)}`, {
        ...given,
        headers: { authorization: `Bearer ${SERVICE_KEY}`, ...given?.headers },
      }),
    openStream: async (userId, { headers, exp } = {}) =>
      holdfast.app.request('/v1/stream', {
        headers: {
          authorization: `Bearer ${await signToken(userId, exp === undefined ? {} : { exp })}`,
          ...headers,
        },
      }),
    async listen() {
      const server = createServer(holdfast.listener)
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      closing.push(
        () =>
          new Promise((resolve) => {
            server.close(() => resolve())
            server.closeAllConnections()
          }),
      )
      const address = server.address()
      return `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`
    },
    async stop() {
      await holdfast.stop()
      for (const close of closing) await close()
      await database.drop()
    },
  }
}

/** What a problem answer must be, whatever the code. */
export function problem(code: Problem['code'], status: number) {
  return { status, body: { code, status, type: 'about:blank' } }
}
