import { createServer } from 'node:http'
import {
  createHoldfast,
  createKie,
  createLog,
  createLumaDreamMachine,
  createReplicate,
  HoldfastError,
} from '@holdfast/server'
import { moneyTypes } from '../../packages/server/test/money-types.ts'
import { ADMIN, INITIAL, type MoneyServerSettings, PRICE, SERVICE_KEY, SIGNED_OUT } from './settings.ts'

/**
 * A server as an application would embed it, under default policies, with every wait made short. The user's name is the
 * token. Says its port as one line of JSON and ends with the process that started it.
 */
const { databaseUrl, publicUrl, vendors }: MoneyServerSettings = JSON.parse(process.argv[2] ?? '{}')

const limits = { callTimeoutMs: 3_000, minPollMs: 100, notFoundGraceMs: 300 }
const log = createLog('info', process.stderr)
const holdfast = createHoldfast({
  database: databaseUrl,
  auth: async (token) => {
    if (token === SIGNED_OUT) throw new HoldfastError('TOKEN_EXPIRED')
    return { userId: token, expiresAt: null, admin: token === ADMIN }
  },
  serviceKeys: [SERVICE_KEY],
  ...(publicUrl ? { publicUrl } : {}),
  providers: [
    createKie({
      apiKey: 'money-key',
      baseUrl: vendors.kie,
      models: { image: 'google/nano-banana', metered: 'google/nano-banana' },
      limits,
    }),
    createReplicate({
      apiKey: 'money-key',
      baseUrl: `${vendors.replicate}/v1`,
      models: {
        picture: 'black-forest-labs/flux-schnell',
        hurried: 'black-forest-labs/flux-schnell',
        seconds: 'black-forest-labs/flux-schnell',
      },
      limits,
    }),
    createLumaDreamMachine({
      apiKey: 'money-key',
      baseUrl: `${vendors.luma}/dream-machine/v1`,
      models: { clip: 'ray-2' },
      limits,
    }),
  ],
  types: moneyTypes(PRICE),
  tasksPerMinute: 1_000,
  credits: { initial: INITIAL },
  engine: { leaseMarginMs: 300, idleMs: 50, sweepEveryMs: 200, planEveryMs: 300, progressEveryMs: 200 },
  log,
})
holdfast.start()

const server = createServer(holdfast.listener)
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  process.stdout.write(`${JSON.stringify({ port: typeof address === 'object' ? address?.port : null })}\n`)
})
process.stdin.resume().once('end', () => process.exit())
