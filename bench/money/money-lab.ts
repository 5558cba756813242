import { randomUUID } from 'node:crypto'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Task } from '@holdfast/shared'
import postgres from 'postgres'
import { migrate } from '../../packages/server/src/database/migrate.ts'
import { startEmbeddedPostgres } from '../../packages/server/src/embedded-postgres/start-embedded-postgres.ts'
import {
  startKieSimulator,
  startLumaDreamMachineSimulator,
  startReplicateSimulator,
} from '../../packages/server/src/simulators.ts'
import { until } from '../crash/until.ts'
import { type MoneyServerSettings, PUBLIC_URL } from './settings.ts'
import { startMoneyServer } from './start-money-server.ts'
import { startVendorGate, type VendorGate } from './vendor-gate.ts'

export interface Answer {
  status: number
  code: string | undefined
  task: Task | undefined
  body: Record<string, unknown>
}

export type Vendors = Record<'kie' | 'replicate' | 'luma', VendorGate>

/** Somebody with a browser, as the server sees them: requests with a token. */
export interface Visitor {
  userId: string
  call(method: string, path: string, json?: unknown, headers?: Record<string, string>): Promise<Answer>
  submit(type: string, params: Record<string, unknown>, more?: Record<string, unknown>): Promise<Answer>
  cancel(taskId: string): Promise<Answer>
  retry(taskId: string): Promise<Answer>
}

/** One PostgreSQL, three simulated vendors behind gates that keep their books, and a server in its own process. */
export interface MoneyLab {
  sql: postgres.Sql
  vendors: Vendors
  visitor(userId?: string): Visitor
  /** Kills the server and starts another. */
  crash(): Promise<void>
  /** The server gives vendors an address to call back at, or none. */
  haveCalledBack(calledBack: boolean): Promise<void>
  said(): string
  close(): Promise<void>
}

const WITHIN = { withinMs: 20_000 }

export async function openMoneyLab(): Promise<MoneyLab> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-money-'))
  // As root, PostgreSQL runs as another user, who must be able to enter.
  await chmod(folder, 0o755)
  const undo: (() => Promise<unknown>)[] = [() => rm(folder, { recursive: true, force: true })]
  const close = async () => {
    for (const step of undo.splice(0).reverse()) await step()
  }
  try {
    const database = await startEmbeddedPostgres({
      dataDir: join(folder, 'database'),
      settings: { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' },
    })
    undo.push(
      () => rm(database.home, { recursive: true, force: true }),
      () => database.stop(),
    )
    const sql = postgres(database.url, { max: 2, onnotice: () => {} })
    undo.push(() => sql.end({ timeout: 1 }))
    await migrate(sql)

    const simulated = { speed: 20, random: () => 0.5, rateLimit: { count: 1_000, windowMs: 1_000 } }
    const open = async (name: string, start: () => Promise<{ url: string; close(): Promise<void> }>) => {
      const simulator = await start()
      undo.push(() => simulator.close())
      const gate = await startVendorGate(name, simulator.url)
      undo.push(() => gate.close())
      return gate
    }
    const vendors: Vendors = {
      kie: await open('kie', () => startKieSimulator(simulated)),
      replicate: await open('replicate', () => startReplicateSimulator(simulated)),
      luma: await open('luma', () => startLumaDreamMachineSimulator(simulated)),
    }
    const settings: MoneyServerSettings = {
      databaseUrl: database.url,
      publicUrl: null,
      vendors: { kie: vendors.kie.url, replicate: vendors.replicate.url, luma: vendors.luma.url },
    }
    let server = await startMoneyServer(settings)
    undo.push(() => server.kill())
    const crash = async () => {
      await server.kill()
      server = await startMoneyServer(settings)
    }

    const visitor = (userId = `user-${randomUUID()}`): Visitor => {
      const call: Visitor['call'] = async (method, path, json, headers = {}) => {
        const response = await fetch(new URL(path, server.url), {
          method,
          headers: {
            authorization: `Bearer ${userId}`,
            ...(json === undefined ? {} : { 'content-type': 'application/json' }),
            ...headers,
          },
          ...(json === undefined ? {} : { body: JSON.stringify(json) }),
        })
        const text = await response.text()
        const body = (text === '' ? {} : JSON.parse(text)) as Record<string, unknown>
        return {
          status: response.status,
          code: body.code as string | undefined,
          task: body.task as Task | undefined,
          body,
        }
      }
      return {
        userId,
        call,
        submit: (type, params, more = {}) =>
          call('POST', '/v1/tasks', { type, params, ...more }, { 'idempotency-key': randomUUID() }),
        cancel: (taskId) => call('POST', `/v1/tasks/${taskId}/cancel`),
        retry: (taskId) =>
          call('POST', `/v1/tasks/${taskId}/retry`, undefined, { 'idempotency-key': randomUUID() }),
      }
    }
    await until(
      'a server that is ready',
      async () => (await visitor().call('GET', '/v1/tasks')).status === 200,
      WITHIN,
    )

    return {
      sql,
      vendors,
      visitor,
      crash,
      async haveCalledBack(calledBack) {
        const publicUrl = calledBack ? PUBLIC_URL : null
        if (settings.publicUrl === publicUrl) return
        settings.publicUrl = publicUrl
        await crash()
      },
      said: () => server.said(),
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}
