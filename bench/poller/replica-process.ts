import { createServer } from 'node:http'
import {
  createAdvisoryLock,
  createHoldfast,
  createKie,
  createLog,
  createNoLock,
  createRedisLock,
  defaultTaskTypes,
  type Lock,
  type TaskType,
} from '@holdfast/server'
import { laneOfUser, type ReplicaSettings, SERVICE_KEY } from './replica-settings.ts'

/**
 * One of several servers, as an application would embed it. Says its port as one line of JSON and ends with whoever
 * started it.
 */
const settings: ReplicaSettings = JSON.parse(process.argv[2] ?? '{}')
const log = createLog('info', process.stderr)
const image: TaskType = { ...(defaultTaskTypes.image as TaskType), watchedPollMs: settings.watchedPollMs }

const holdfast = createHoldfast({
  database: settings.databaseUrl,
  auth: async (token) => ({ userId: token, expiresAt: null }),
  serviceKeys: [SERVICE_KEY],
  providers: [
    createKie({
      apiKey: 'poller-key',
      baseUrl: settings.kieUrl,
      models: { image: 'google/nano-banana' },
      limits: settings.limits,
    }),
  ],
  types: { image },
  lock: openLock(),
  route: ({ userId }) => laneOfUser(userId),
  tasksPerMinute: 1_000_000,
  unfinishedTasks: 1_000_000,
  requestsPerMinute: { user: 1_000_000, address: 1_000_000 },
  engine: settings.engine,
  streams: { sweepMs: 1_000 },
  log,
})
await holdfast.start()

const server = createServer(holdfast.listener)
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  process.stdout.write(`${JSON.stringify({ port: typeof address === 'object' ? address?.port : null })}\n`)
})
process.stdin.resume().once('end', () => process.exit())

function openLock(): Lock {
  const { kind, url, ttlMs, retryMs } = settings.lock
  if (kind === 'advisory') return createAdvisoryLock({ url, ttlMs, retryMs, log })
  if (kind === 'redis') return createRedisLock({ url, ttlMs, retryMs, log })
  return createNoLock()
}
