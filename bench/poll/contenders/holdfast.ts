import { setImmediate } from 'node:timers/promises'
import postgres from 'postgres'
import { createHoldfast } from '../../../packages/server/src/create-holdfast.ts'
import { createLog } from '../../../packages/server/src/log.ts'
import { createKie } from '../../../packages/server/src/providers/kie/kie.ts'
import type { OpenContender } from '../contender.ts'
import { createProviderCounter } from '../provider-counter.ts'
import { externalIdOf } from '../settings.ts'

/**
 * Holdfast as `createHoldfast` makes it, with all that a poll costs in earnest: claim, fence, adapter, schedule. The
 * tasks are images at KIE that nobody watches, spread over many users.
 */
export const openHoldfast: OpenContender = async ({ databaseUrl, providerUrl, tasks }, pool) => {
  const sql = postgres(databaseUrl, { max: 10, onnotice: () => {} })
  const provider = createProviderCounter(providerUrl)
  // Not to stdout, where the report goes.
  const log = createLog('warn', { write: (line) => void process.stderr.write(line) })
  const build = () =>
    createHoldfast({
      database: sql,
      auth: async () => ({ userId: 'nobody', expiresAt: null }),
      // The pool is passed in so that its connections stay warm from pass to pass, as in a server that goes on.
      providers: [
        createKie({
          apiKey: 'bench-key',
          baseUrl: providerUrl,
          models: { image: 'google/nano-banana' },
          pool,
          // As much as the provider can take: the limit must not be what is measured.
          limits: { query: { perSecond: 1_000_000, burst: 1_000_000, inFlight: 4_000 } },
        }),
      ],
      log,
    })
  await build().migrate()

  return {
    async seed() {
      const ids = Array.from({ length: tasks }, (_, index) => externalIdOf(index))
      await sql`truncate holdfast.tasks cascade`
      await sql.begin(async (tx) => {
        // Straight to `running`: the rules that forbid it are triggers.
        await tx`set local session_replication_role = replica`
        await tx`
          create temporary table seeded on commit drop as
          select holdfast.new_id() as id, external_id, n from unnest(${ids}::text[]) with ordinality as t (external_id, n)
        `
        await tx`
          insert into holdfast.tasks (id, user_id, type, provider, status, params, started_at, deadline_at)
          select
            id, 'user-' || n % 5000, 'image', 'kie', 'running',
            '{"prompt": "A lighthouse on a basalt cliff at dusk, long exposure, sea mist", "aspect_ratio": "16:9"}',
            now(), now() + interval '1 day'
          from seeded
        `
        await tx`
          insert into holdfast.provider_jobs (task_id, provider, sending_at, external_id, accepted_at, trace_id)
          select id, 'kie', now(), external_id, now(), md5(n::text) from seeded
        `
        await tx`
          insert into holdfast.work (task_id, kind, provider, due_at)
          select id, 'poll', 'kie', now() - random() * interval '60 s' from seeded
        `
      })
      await sql`vacuum analyze holdfast.tasks, holdfast.provider_jobs, holdfast.work`
    },
    async pollAll() {
      const goal = (await provider.count()) + tasks
      const holdfast = build()
      await holdfast.start()
      await provider.reach(goal)
      // The last answers are on their way: a stop now would give those polls up and hand them back.
      while ((pool.stats.size ?? 0) > 0) await setImmediate()
      await setImmediate()
      // Writes what waits to be written together.
      await holdfast.stop()
    },
    async makeDue() {
      await sql`update holdfast.work set due_at = now() - random() * interval '60 s'`
      await sql`vacuum analyze holdfast.work`
    },
    async countWaiting() {
      const [row] = await sql<{ count: number }[]>`
        select count(*)::int from holdfast.work where kind = 'poll' and due_at > now()
      `
      return row?.count ?? 0
    },
    close: () => sql.end({ timeout: 5 }),
  }
}
