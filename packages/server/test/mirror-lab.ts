import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { vi } from 'vitest'
import type { AlertNotice } from '../src/alerts/alert.ts'
import { createSourceOpener } from '../src/artifacts/source/open-source.ts'
import type { Bus } from '../src/bus/bus.ts'
import { createMemoryBus } from '../src/bus/memory-bus.ts'
import type { Sql } from '../src/database/connect.ts'
import { createNoLock } from '../src/locks/no-lock.ts'
import { createMetrics } from '../src/metrics/metrics.ts'
import { createFilesystemStore, type FilesystemStore } from '../src/objects/filesystem-store.ts'
import type { ObjectStore } from '../src/objects/object-store.ts'
import type { Provider } from '../src/providers/provider.ts'
import type { MirrorOptions } from '../src/work/copy/copy-options.ts'
import { createEngine, defaultEngineOptions, type Engine } from '../src/work/workers.ts'
import { createMemoryLog } from './memory-log.ts'
import { notifyOver } from './record-notices.ts'
import { createScriptedProvider } from './scripted-provider.ts'
import { scriptedTypes } from './scripted-types.ts'
import { createTestSettle } from './settle-task.ts'
import { type SourceServer, startSourceServer } from './source-server.ts'
import { createTestDatabase } from './test-database.ts'

export interface MirrorReplica {
  engine: Engine
  bus: Bus
  alerts: AlertNotice[]
  logLines: string[]
  metric(name: string, labels?: string): Promise<number | undefined>
}

export interface ReplicaOptions {
  objects?: ObjectStore
  provider?: Partial<Provider>
  mirror?: Partial<MirrorOptions>
  sql?: Sql
  random?: () => number
  stopWithinMs?: number
  idleMs?: number
}

export interface FileRow {
  state: string
  objectKey: string | null
  bytes: number | null
  sha256: string | null
  contentType: string | null
  sourceUrl: string
  attempts: number
  lastError: string | null
  problem: string | null
}

export interface WorkRow {
  attempts: number
  epoch: number
  dueMs: number
  neededMs: number | null
}

export type MirrorLab = Awaited<ReturnType<typeof openMirrorLab>>

/** A database, a file host, a real store in a folder, and as many engines that copy from one to the other as wanted. */
export async function openMirrorLab() {
  const database = await createTestDatabase()
  const { sql } = database
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-mirror-'))
  const source: SourceServer = await startSourceServer()
  const store: FilesystemStore = createFilesystemStore({
    directory: folder,
    baseUrl: 'https://files.example',
    secret: 'a secret of the mirror lab',
  })
  const opened: (() => Promise<void>)[] = []

  return {
    sql,
    databaseUrl: database.url,
    source,
    store,
    /** Starts an engine that serves nothing but files: its provider has no other work. */
    start(options: ReplicaOptions = {}): MirrorReplica {
      const provider = { ...createScriptedProvider({ name: 'vendor' }), ...options.provider }
      const { log, lines } = createMemoryLog()
      const bus = createMemoryBus()
      const metrics = createMetrics()
      const opener = createSourceOpener()
      const alerts: AlertNotice[] = []
      const notify = notifyOver(bus)
      const engine = createEngine(
        {
          sql: options.sql ?? sql,
          notify,
          settle: createTestSettle(options.sql ?? sql, undefined, { notify }),
          bus,
          lock: createNoLock(),
          types: scriptedTypes(provider.name),
          providers: new Map([[provider.name, provider]]),
          log,
          metrics,
          random: options.random ?? (() => 0),
          objects: options.objects ?? store,
          source: opener,
          mirror: { allowLoopback: true, leaseMs: 600, ...options.mirror },
          alert: (notice) => void alerts.push(notice),
        },
        { ...defaultEngineOptions, idleMs: options.idleMs ?? 5, stopWithinMs: options.stopWithinMs ?? 5_000 },
      )
      engine.start()
      opened.push(async () => {
        await engine.stop()
        await opener.close()
      })
      return {
        engine,
        bus,
        alerts,
        logLines: lines,
        async metric(name, labels = '') {
          const text = await metrics.registry.metrics()
          const line = text.split('\n').find((each) => each.startsWith(name) && each.includes(labels))
          return line === undefined ? undefined : Number(line.split(' ').at(-1))
        },
      }
    },
    async files(taskId: string): Promise<FileRow[]> {
      return sql<FileRow[]>`
        select state, object_key as "objectKey", bytes::float8 as bytes, sha256, content_type as "contentType",
          source_url as "sourceUrl", attempts, last_error as "lastError", problem
        from holdfast.artifacts where task_id = ${taskId} order by ordinal
      `
    },
    async work(taskId: string): Promise<WorkRow[]> {
      return sql<WorkRow[]>`
        select attempts, epoch, (extract(epoch from due_at - now()) * 1000)::float8 as "dueMs",
          (extract(epoch from needed_by - now()) * 1000)::float8 as "neededMs"
        from holdfast.work where task_id = ${taskId} and kind = 'copy' order by part
      `
    },
    /** What waits to be tried again is tried now. What is claimed, for less time than any wait, is let be. */
    async tryNow(taskId: string): Promise<void> {
      await sql`
        update holdfast.work set due_at = now()
        where task_id = ${taskId} and kind = 'copy' and due_at > now() + interval '700 ms'
      `
    },
    async read(key: string): Promise<Buffer | null> {
      const object = await store.open(key)
      if (!object) return null
      return Buffer.from(await new Response(object.stream(0, object.bytes)).arrayBuffer())
    },
    keys: () => keysOf(store),
    until: (check: () => Promise<void> | void) => vi.waitFor(check, { timeout: 15_000, interval: 5 }),
    /** Stops the engines. */
    stop: () => Promise.all(opened.splice(0).map((stop) => stop())),
    /** Stops the engines, and forgets what they worked on. */
    async reset(): Promise<void> {
      await Promise.all(opened.splice(0).map((stop) => stop()))
      await sql`delete from holdfast.work`
      await store.delete(await keysOf(store))
      source.asked.length = 0
    },
    async close(): Promise<void> {
      await Promise.all(opened.splice(0).map((stop) => stop()))
      await source.close()
      await database.drop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** What is in a store, in order. */
async function keysOf(store: ObjectStore): Promise<string[]> {
  const keys: string[] = []
  for await (const key of store.list('')) keys.push(key)
  return keys.sort()
}
