/** The whole server with its engine, and a provider inside of it that reports one per cent more at every poll. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createHoldfast } from '../../packages/server/src/create-holdfast.ts'
import { connect } from '../../packages/server/src/database/connect.ts'
import { createLog } from '../../packages/server/src/log.ts'
import type { Provider } from '../../packages/server/src/providers/provider.ts'
import { defaultTaskTypes } from '../../packages/server/src/tasks/task-types.ts'
import type { EngineCount, ProgressSettings } from './progress-messages.ts'
import { seedWatched } from './seed-watched.ts'

const settings = JSON.parse(process.argv[2] ?? '') as ProgressSettings
const { pollMs } = settings
const progress = new Map<string, number>()
let reports = 0
let polls = 0
const provider: Provider = {
  name: 'steps',
  limits: {
    create: { perSecond: 1, burst: 1, inFlight: 1 },
    query: { perSecond: 20_000, burst: 1_000, inFlight: 1_000 },
    callTimeoutMs: 1_000,
    minPollMs: pollMs,
    notFoundGraceMs: 60_000,
  },
  create: async () => ({ kind: 'unknown', reason: 'none is created' }),
  async query(externalId) {
    polls += 1
    const next = (progress.get(externalId) ?? 0) + 1
    if (next > 99) return { kind: 'running', progress: 99 }
    progress.set(externalId, next)
    reports += 1
    return { kind: 'running', progress: next }
  },
  close: async () => {},
}

const sql = connect(settings.databaseUrl)
await seedWatched(sql, settings)
const image = defaultTaskTypes.image
if (!image) throw new Error('There is no type "image".')
const holdfast = createHoldfast({
  database: sql,
  auth: async (token) => ({ userId: token, expiresAt: null }),
  providers: [provider],
  types: { image: { ...image, provider: 'steps', watchedPollMs: pollMs } },
  log: createLog('warn'),
})
const server = createServer(holdfast.listener)
server.listen(0, '127.0.0.1', () => {
  const answer = (count: EngineCount) => process.send?.(count)
  process.on('message', (order: 'start' | 'count') => {
    if (order === 'start') void holdfast.start()
    answer({ kind: 'count', reports, polls })
  })
  answer({ kind: 'ready', port: (server.address() as AddressInfo).port })
})
// The benchmark is gone, however it ended.
process.on('disconnect', () => process.exit(0))
