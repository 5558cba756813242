import { randomBytes } from 'node:crypto'
import postgres from 'postgres'
import { TEST_AUDIENCE, TEST_ISSUER, TEST_SECRET } from '../../packages/server/test/test-tokens.ts'
import { migrateDatabase } from '../mirror/migrate-database.ts'
import { startPostgres } from '../poll/start-postgres.ts'
import { type ServeReplica, startServe } from '../replicas/start-serve.ts'

/** `holdfast serve` as anybody would run it, with providers that cannot be reached. */
export interface DoorsLab {
  server: ServeReplica
  sql: postgres.Sql
  /** Every address that takes webhooks: of each provider the account's, a task's own, and one with a wrong secret. */
  webhookAddresses(): Promise<string[]>
  close(): Promise<void>
}

const NOWHERE = 'http://127.0.0.1:1'
const PROVIDERS = ['kie', 'replicate', 'fal']

export async function openDoorsLab(): Promise<DoorsLab> {
  const database = await startPostgres()
  const url = await database.databaseUrl('doors')
  await migrateDatabase(url)
  const sql = postgres(url, { max: 2, onnotice: () => {} })
  const server = await startServe({
    DATABASE_URL: url,
    JWT_SECRET: TEST_SECRET,
    JWT_ISSUER: TEST_ISSUER,
    JWT_AUDIENCE: TEST_AUDIENCE,
    KIE_API_KEY: 'a-key-for-doors',
    KIE_BASE_URL: NOWHERE,
    REPLICATE_API_TOKEN: 'a-key-for-doors',
    REPLICATE_BASE_URL: NOWHERE,
    FAL_KEY: 'a-key-for-doors',
    FAL_BASE_URL: NOWHERE,
    // What is measured is the door itself, and not that strangers are soon told to stay away.
    REQUESTS_PER_MINUTE_ANONYMOUS: '1000000',
    TASKS_PER_MINUTE: '1000',
    // Nobody tries to send what waits: it would be measured, too.
    LANES: 'enterprise_exclusive',
  })

  async function addressOfTask(provider: string): Promise<string> {
    const secret = randomBytes(32).toString('hex')
    const [task] = await sql<{ id: string }[]>`
      insert into holdfast.tasks (user_id, type, provider) values ('doors', 'image', ${provider}) returning id
    `
    await sql`
      insert into holdfast.provider_jobs (task_id, provider, callback_secret, sending_at, external_id, accepted_at)
      values (${task?.id ?? ''}, ${provider}, ${secret}, now(), ${`job-${secret}`}, now())
    `
    return `${server.url}/v1/webhooks/${provider}/${task?.id}/${secret}`
  }

  return {
    server,
    sql,
    async webhookAddresses() {
      const addresses: string[] = []
      for (const provider of PROVIDERS) {
        const own = await addressOfTask(provider)
        addresses.push(`${server.url}/v1/webhooks/${provider}`, own, own.replace(/.{8}$/, '00000000'))
      }
      return addresses
    },
    async close() {
      await server.kill()
      await sql.end({ timeout: 5 })
      await database.stop()
    },
  }
}
