import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createHoldfast, createKie, createLog } from '@holdfast/server'
import { TEST_AUDIENCE, TEST_ISSUER, TEST_SECRET } from '../../packages/server/test/test-tokens.ts'
import { openPostgresMeter } from '../poll/postgres-meter.ts'
import { startServe } from '../replicas/start-serve.ts'

/** Until it holds its locks and has looked once at everything. */
const SETTLES_IN_MS = 5_000

/** Statements a second of `holdfast serve` as it comes, with all seven providers and nothing to do. */
export async function measureIdle(options: {
  databaseUrl: string
  meterUrl: string
  folder: string
  forMs: number
}): Promise<number> {
  const { databaseUrl, meterUrl, folder, forMs } = options
  const auth = { secret: TEST_SECRET, issuer: TEST_ISSUER, audience: TEST_AUDIENCE }
  const kie = createKie({ apiKey: 'idle-key-0', models: { image: 'google/nano-banana' } })
  const schema = createHoldfast({
    database: databaseUrl,
    auth,
    providers: [kie],
    types: {},
    log: createLog('warn'),
  })
  await schema.migrate()
  await schema.stop()

  // Nobody listens at these addresses: idle means that no vendor is called.
  const nowhere = 'http://127.0.0.1:9'
  const server = await startServe({
    DATABASE_URL: databaseUrl,
    HOLDFAST_DATA_DIR: join(folder, 'idle'),
    JWT_SECRET: TEST_SECRET,
    JWT_ISSUER: TEST_ISSUER,
    JWT_AUDIENCE: TEST_AUDIENCE,
    KIE_API_KEY: 'idle-key-1',
    REPLICATE_API_TOKEN: 'idle-key-2',
    FAL_KEY: 'idle-key-3',
    RUNWAYML_API_SECRET: 'idle-key-4',
    LUMA_AGENTS_API_KEY: 'idle-key-5',
    LUMAAI_API_KEY: 'idle-key-6',
    OPENAI_VIDEOS_API_KEY: 'idle-key-7',
    OPENAI_VIDEOS_BASE_URL: nowhere,
  })
  const meter = openPostgresMeter(meterUrl, new URL(databaseUrl).pathname.slice(1))
  try {
    await sleep(SETTLES_IN_MS)
    const before = await meter.read()
    const began = performance.now()
    await sleep(forMs)
    const after = await meter.read()
    return (after.statements - before.statements) / ((performance.now() - began) / 1_000)
  } finally {
    await meter.close()
    await server.kill()
  }
}
