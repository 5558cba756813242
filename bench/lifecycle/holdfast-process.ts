/**
 * Holdfast as an application embeds it: `createHoldfast` with its defaults, a filesystem store, JWTs, and an adapter for
 * the vendor. Loads the Holdfast of the folder that it is told, so that a release can run beside the one before. An option
 * that gets another name has to be given under both.
 */
import { createWriteStream } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { TaskType } from '@holdfast/server'
import postgres from 'postgres'
import { testAuth } from '../../packages/server/test/test-tokens.ts'
import { type ContenderSettings, IN_FLIGHT } from './settings.ts'

const settings: ContenderSettings = JSON.parse(process.argv[2] ?? '')
const { databaseUrl, vendorUrl, folder, root, learning, extra, uncapped } = settings
const entry = pathToFileURL(join(root, 'packages/server/src/index.ts')).href
const { createFilesystemStore, createHoldfast, createHttpApi, createLog, defaultTaskTypes } = (await import(
  entry
)) as typeof import('@holdfast/server')

interface Job {
  id: string
  state: 'running' | 'done'
  percent: number | null
  files: string[]
}

const acme = createHttpApi({
  name: 'acme',
  baseUrl: vendorUrl,
  apiKey: 'lifecycle-key',
  limits: {
    create: { perSecond: 10_000, inFlight: IN_FLIGHT.create },
    query: { perSecond: 10_000, inFlight: IN_FLIGHT.query },
    minPollMs: learning ? 100 : 500,
  },
  create: ({ params }) => ({ path: '/jobs', json: params }),
  readCreate: ({ json }) => ({ kind: 'accepted', externalId: (json as Job).id }),
  query: (externalId) => ({ path: `/jobs/${externalId}` }),
  readQuery: ({ json }) => {
    const { state, percent, files } = json as Job
    return state === 'done'
      ? { kind: 'succeeded', outputs: files.map((url) => ({ url })) }
      : { kind: 'running', progress: percent }
  },
})
const image: TaskType = {
  ...defaultTaskTypes.image,
  provider: 'acme',
  ...(learning ? { watchedPollMs: 100 } : {}),
  ...(extra === 'credits' ? { credits: 4 } : {}),
}

await mkdir(folder, { recursive: true })
const holdfast = createHoldfast({
  database: databaseUrl,
  auth: testAuth,
  providers: [acme],
  types: { image },
  objects: createFilesystemStore({
    directory: folder,
    baseUrl: 'http://127.0.0.1',
    secret: 'only for a benchmark',
  }),
  // The vendor of this benchmark is on this machine.
  mirror: { allowLoopback: true },
  log: createLog('info', createWriteStream(join(folder, 'log.ndjson'))),
  ...(learning ? { engine: { planEveryMs: 500 } } : {}),
  ...(uncapped
    ? {
        tasksPerMinute: 1_000_000,
        unfinishedTasks: 1_000_000,
        requestsPerMinute: { user: 1_000_000, address: 1_000_000 },
      }
    : {}),
  ...(extra === 'credits' ? { credits: { initial: 1_000_000 } } : {}),
  ...(extra === 'onSettled'
    ? {
        onSettled: async (tx, { userId, id, status }) => {
          await tx`insert into public.gallery (user_id, task_id, status) values (${userId}, ${id}, ${status})`
        },
      }
    : {}),
})
await holdfast.migrate()
if (extra === 'onSettled') {
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} })
  await sql`create table if not exists public.gallery (user_id text, task_id uuid primary key, status text)`
  await sql.end()
}
await holdfast.start()

const server = createServer(holdfast.listener)
// Callers pause for longer than the five seconds of Node's default.
server.keepAliveTimeout = 600_000
server.listen(0, '127.0.0.1', () => {
  console.log(JSON.stringify({ port: (server.address() as AddressInfo).port }))
})
process.once('SIGTERM', () => void holdfast.stop().finally(() => process.exit(0)))
process.stdin.resume().once('end', () => process.exit(0))
