import postgres from 'postgres'
import { createSourceOpener } from '../../packages/server/src/artifacts/source/open-source.ts'
import { createNotify } from '../../packages/server/src/bus/create-notify.ts'
import { createMemoryBus } from '../../packages/server/src/bus/memory-bus.ts'
import { connect } from '../../packages/server/src/database/connect.ts'
import { createNoLock } from '../../packages/server/src/locks/no-lock.ts'
import { createLog } from '../../packages/server/src/log.ts'
import { createMetrics } from '../../packages/server/src/metrics/metrics.ts'
import { createFilesystemStore } from '../../packages/server/src/objects/filesystem-store.ts'
import { defaultMirrorOptions } from '../../packages/server/src/work/copy/copy-options.ts'
import { createEngine, defaultEngineOptions } from '../../packages/server/src/work/workers.ts'
import type { Contender } from './contender.ts'
import { hashOfPicture } from './picture-chunks.ts'
import type { ContenderSettings } from './settings.ts'

/**
 * The engine with all that a file costs in earnest: claim, lease, checks of the source, hash, store, and the
 * transaction that makes it visible. Each file is the result of a task of its own.
 */
export async function openHoldfast(settings: ContenderSettings): Promise<Contender> {
  const { sourceUrl, databaseUrl, folder, s3, concurrency } = settings
  const log = createLog('warn', { write: (line) => void process.stderr.write(line) })
  const sql = connect(databaseUrl)
  const watcher = postgres(databaseUrl, { max: 1, onnotice: () => {} })
  // Loaded on demand, as a server does.
  const objects = s3
    ? (await import('../../packages/server/src/objects/s3-store.ts')).createS3Store({
        ...s3,
        region: 'us-east-1',
        log,
      })
    : createFilesystemStore({
        directory: folder,
        baseUrl: 'http://127.0.0.1',
        secret: 'only for a benchmark',
      })
  const source = createSourceOpener()
  const bus = createMemoryBus()
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
      objects,
      source,
      mirror: { ...defaultMirrorOptions, concurrency, allowLoopback: true },
    },
    defaultEngineOptions,
  )
  engine.start()

  return {
    async prepare(files, bytes) {
      await watcher.begin(async (tx) => {
        await tx`
          create temporary table seeded on commit drop as
          select holdfast.new_id() as id, n from generate_series(1, ${files}::int) as n
        `
        await tx`
          insert into holdfast.tasks (id, user_id, type, provider, params)
          select id, 'user-' || n % 100, 'image', 'kie', '{"prompt": "A lighthouse at dusk"}' from seeded
        `
        await tx`insert into holdfast.provider_jobs (task_id, provider) select id, 'kie' from seeded`
        await tx`
          insert into holdfast.artifacts (task_id, user_id, ordinal, content_type, source_url, source_expires_at)
          select id, 'user-' || n % 100, 0, 'image/png', ${`${sourceUrl}/${bytes}/`}::text || n || '.png',
            now() + interval '20 min'
          from seeded
        `
        await tx`
          insert into holdfast.work (task_id, kind, part, provider, needed_by, due_at)
          select id, 'copy', 0, 'kie', now() + interval '20 min', now() + interval '1 h' from seeded
        `
      })
      // A hint comes with each that is stored; which was the last is for the database to say.
      const stored = new Promise<void>((resolve) => {
        let hints = 0
        const undo = Array.from({ length: 100 }, (_, user) =>
          bus.subscribe(`user-${user}`, () => {
            if (++hints < files) return
            for (const leave of undo) leave()
            resolve()
          }),
        )
      })
      return {
        async run() {
          await watcher`update holdfast.work set due_at = now()`
          engine.wake()
          await stored
        },
        async check() {
          const [left] = await watcher<[{ count: number }]>`select count(*)::int from holdfast.work`
          const [wrong] = await watcher<[{ count: number }]>`
        select count(*)::int from holdfast.artifacts
        where state <> 'stored' or attempts > 0 or (bytes = ${bytes} and sha256 <> ${hashOfPicture(bytes)})
      `
          if (left.count > 0 || wrong.count > 0)
            throw new Error(`${left.count} are left, ${wrong.count} are wrong.`)
        },
      }
    },
    async close() {
      await engine.stop()
      await source.close()
      await objects.close()
      await watcher.end({ timeout: 1 })
      await sql.end({ timeout: 1 })
    },
  }
}
