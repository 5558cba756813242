import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createSourceOpener } from '../../packages/server/src/artifacts/source/open-source.ts'
import { createNotify } from '../../packages/server/src/bus/create-notify.ts'
import { createMemoryBus } from '../../packages/server/src/bus/memory-bus.ts'
import { connect } from '../../packages/server/src/database/connect.ts'
import { createNoLock } from '../../packages/server/src/locks/no-lock.ts'
import { createLog } from '../../packages/server/src/log.ts'
import { createMetrics } from '../../packages/server/src/metrics/metrics.ts'
import { createFilesystemStore } from '../../packages/server/src/objects/filesystem-store.ts'
import type { ObjectStore } from '../../packages/server/src/objects/object-store.ts'
import { createEngine, defaultEngineOptions } from '../../packages/server/src/work/workers.ts'
import { startDyingSource } from './dying-source.ts'

export interface Rescue {
  databaseUrl: string
  /** How long each link works, in the order in which the results came. */
  lifetimesMs: readonly number[]
  concurrency: number
  /** How long the store takes for one file. */
  putMs: number
  /** Whether the claim may know when each dies. Otherwise all seem to live for ever, and the first come go first. */
  knowsExpiry: boolean
}

/** Copies results whose links die while they wait, and returns how many were in time. */
export async function runRescue(rescue: Rescue): Promise<number> {
  const { databaseUrl, lifetimesMs, concurrency, putMs, knowsExpiry } = rescue
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-rescue-'))
  const sql = connect(databaseUrl)
  const dying = await startDyingSource(lifetimesMs)
  const source = createSourceOpener()
  const store = createFilesystemStore({
    directory: folder,
    baseUrl: 'http://127.0.0.1',
    secret: 'only for a rescue',
  })
  const slow: ObjectStore = {
    ...store,
    async put(...args) {
      await sleep(putMs)
      return store.put(...args)
    },
  }
  const bus = createMemoryBus()
  const log = createLog('fatal')
  const engine = createEngine(
    {
      sql,
      notify: createNotify({ bus, log }),
      bus,
      lock: createNoLock(),
      settle: () => Promise.reject(new Error('nothing ends here')),
      types: {},
      providers: new Map(),
      log,
      metrics: createMetrics(),
      alert: () => {},
      objects: slow,
      source,
      mirror: { concurrency, allowLoopback: true },
    },
    { ...defaultEngineOptions, sweepEveryMs: 3_600_000 },
  )
  try {
    await sql.begin(async (tx) => {
      await tx`
        create temporary table seeded on commit drop as
        select holdfast.new_id() as id, n, lifetime
        from unnest(${[...lifetimesMs]}::float8[]) with ordinality as l (lifetime, n)
      `
      await tx`
        insert into holdfast.tasks (id, user_id, type, provider) select id, 'ada', 'image', 'kie' from seeded
      `
      await tx`
        insert into holdfast.artifacts (task_id, user_id, ordinal, content_type, source_url, source_expires_at)
        select id, 'ada', 0, 'image/png', ${`${dying.url}/`}::text || n - 1 || '.png', now() + lifetime * interval '1 ms'
        from seeded
      `
      await tx`
        insert into holdfast.work (task_id, kind, part, provider, due_at, needed_by)
        select id, 'copy', 0, 'kie', now() + n * interval '1 us',
          case when ${knowsExpiry} then now() + lifetime * interval '1 ms' end
        from seeded
      `
    })
    dying.begin()
    engine.start()
    await sleep(Math.max(...lifetimesMs) + putMs)
    await engine.stop()
    const [row] = await sql<[{ stored: number }]>`
      select count(*)::int as stored from holdfast.artifacts where state = 'stored'
    `
    return row.stored
  } finally {
    await engine.stop()
    await source.close()
    await dying.close()
    await sql.end({ timeout: 1 })
    await rm(folder, { recursive: true, force: true })
  }
}
