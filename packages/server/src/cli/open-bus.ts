import type { Logger } from 'pino'
import type { Bus } from '../bus/bus.ts'
import { createMemoryBus } from '../bus/memory-bus.ts'
import { postgresChannel } from '../bus/postgres-channel.ts'
import { redisChannel } from '../bus/redis-channel.ts'
import { createReplicatedBus } from '../bus/replicated-bus.ts'
import type { Config } from '../config.ts'
import { connect } from '../database/connect.ts'
import { assertSessionPooling } from '../locks/assert-session-pooling.ts'

/** The bus that the settings ask for: by default Redis' where there is one, else PostgreSQL's. */
export async function openBus(config: Config, log: Logger): Promise<Bus> {
  const { redisUrl } = config
  const kind = config.bus ?? (redisUrl ? 'redis' : 'postgres')
  if (kind === 'memory') return createMemoryBus()
  if (kind === 'redis') {
    if (!redisUrl) throw new Error('BUS=redis needs REDIS_URL, such as redis://localhost:6379.')
    return createReplicatedBus({ open: redisChannel({ url: redisUrl }), log })
  }
  const url = config.directUrl ?? config.databaseUrl
  if (!url) throw new Error('BUS=postgres needs DATABASE_URL.')
  // Behind a transaction pooler nobody would ever hear anything.
  await assertSessionPooling(url, {
    advice: 'BUS=redis with REDIS_URL, or BUS=memory if there is one replica only',
  })
  const sql = connect(url, { maxConnections: 1, applicationName: 'holdfast-bus-speak' })
  const bus = createReplicatedBus({ open: postgresChannel({ sql, url }), log })
  return {
    ...bus,
    async close() {
      await bus.close()
      await sql.end({ timeout: 5 })
    },
  }
}
