import { createServer } from 'node:http'
import { flushCompileCache } from 'node:module'
import { createHoldfast, createKie, createLog, defaultTaskTypes, type TaskType } from '@holdfast/server'
import type { Tx } from '../../packages/server/src/database/connect.ts'
import { openObjectStore } from '../../packages/server/src/objects/open-object-store.ts'
import type { FindOutcome } from '../../packages/server/src/providers/provider.ts'
import { ALERTS_PATH, CREATED_PATH } from './gate-paths.ts'
import { openShared } from './open-shared.ts'
import { ADMIN, HMAC_KEY, SERVICE_KEY, type ServerProcessSettings } from './orders.ts'

/**
 * A server as an application would embed it, with every wait made short, so that what a killed process had claimed
 * comes back within three seconds. Says its port as one line of JSON and ends with the process that started it.
 */
const settings: ServerProcessSettings = JSON.parse(process.argv[2] ?? '{}')
const { databaseUrl, kieUrl, storeFolder, tellUrl, withdrawn, oddity } = settings

const kie = createKie({
  apiKey: 'crash-key',
  baseUrl: kieUrl,
  models: { image: 'google/nano-banana', hurried: 'google/nano-banana', impatient: 'google/nano-banana' },
  webhookHmacKey: HMAC_KEY,
  limits: { callTimeoutMs: 2_000, minPollMs: 150, notFoundGraceMs: 200 },
})
const image: TaskType = { ...(defaultTaskTypes.image as TaskType), watchedPollMs: 150, credits: 4 }
const types: Record<string, TaskType> = {
  image,
  hurried: { ...image, deadlineMs: 500 },
  impatient: { ...image, waitLimitMs: 1_000 },
}
if (withdrawn) delete types[withdrawn]
const log = createLog('debug', process.stderr)
const objects = storeFolder
  ? await openObjectStore(
      { kind: 'filesystem', directory: storeFolder, secret: null, secretFile: `${storeFolder}-secret` },
      { baseUrl: 'http://127.0.0.1' },
    )
  : undefined

async function find(): Promise<FindOutcome> {
  const response = await fetch(new URL(CREATED_PATH, kieUrl))
  return response.ok
    ? { kind: 'found', externalId: await response.text() }
    : { kind: 'inconclusive', reason: 'not listed yet' }
}

async function onSettled(tx: Tx, { id }: { id: string }): Promise<void> {
  if (oddity === 'plugin-throws') throw new Error('it forgot how')
  await tx`insert into remembered (task_id) values (${id})`
}

const holdfast = createHoldfast({
  database: databaseUrl,
  auth: async (token) => ({ userId: token, expiresAt: null, admin: token === ADMIN }),
  requestsPerMinute: { user: 1_000_000, address: 1_000_000 },
  serviceKeys: [SERVICE_KEY],
  // KIE cannot cancel; with a provider that can, that path runs too.
  providers: [
    {
      ...kie,
      cancel: async () => oddity !== 'refuses-cancels',
      ...(oddity === 'finds-late' ? { find } : {}),
    },
  ],
  plugins:
    oddity === 'plugin-throws' || oddity === 'plugin-remembers' ? [{ name: 'forgetful', onSettled }] : [],
  webhooks: tellUrl ? [{ name: 'app', url: tellUrl, secret: `whsec_${btoa('x'.repeat(32))}` }] : [],
  alertWebhook: { url: new URL(ALERTS_PATH, kieUrl).href },
  ...openShared(settings, log),
  types,
  credits: { initial: 100 },
  ...(objects ? { objects, mirror: { allowLoopback: true, leaseMs: 1_000 } } : {}),
  engine: {
    leaseMarginMs: oddity === 'marks-late' ? 3_000 : 300,
    idleMs: 100,
    sweepEveryMs: 300,
    planEveryMs: 300,
    progressEveryMs: 200,
    watchEveryMs: 300,
  },
  streams: { sweepMs: 500 },
  log,
})
// Not waited for: it listens while PostgreSQL is away as well.
void holdfast.start()

const server = createServer(holdfast.listener)
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  process.stdout.write(`${JSON.stringify({ port: typeof address === 'object' ? address?.port : null })}\n`)
  // Written at an orderly exit otherwise, and this process will have none.
  flushCompileCache()
})
process.once('SIGTERM', async () => {
  const stopped = holdfast.stop()
  log.info('stopping in good order')
  await stopped
  await objects?.close()
  process.exit()
})
process.stdin.resume().once('end', () => process.exit())
