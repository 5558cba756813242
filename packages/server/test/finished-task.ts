import type { Sql } from '../src/database/connect.ts'
import type { ProviderOutput } from '../src/providers/provider.ts'
import { type MakeTaskOptions, makeRunningTask } from './make-task.ts'
import { settleTask } from './settle-task.ts'

export interface FinishedTaskOptions extends MakeTaskOptions {
  urls: string[]
  contentType?: string | null
  /** How long the URLs are good for. @default 20 min */
  lifetimeMs?: number | null
  /** Whether its files are to be copied. @default true */
  mirror?: boolean
}

/** A completed task with result files that are still at their provider. Returns its id. */
export async function makeFinishedTask(
  sql: Sql,
  {
    urls,
    contentType = 'image/png',
    lifetimeMs = 20 * 60_000,
    mirror = true,
    ...options
  }: FinishedTaskOptions,
): Promise<string> {
  const { id } = await makeRunningTask(sql, options)
  const outputs: ProviderOutput[] = urls.map((url) => ({ url, contentType, urlLifetimeMs: lifetimeMs }))
  await settleTask(sql, id, { status: 'completed', outputs, mirror })
  return id
}
