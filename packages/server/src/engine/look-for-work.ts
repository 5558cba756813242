import { setTimeout as sleep } from 'node:timers/promises'
import type { Lane } from '@holdfast/shared'
import type { Logger } from 'pino'
import type { Sql } from '../database/connect.ts'
import { logFailure } from '../outage-log.ts'
import type { WorkName } from './work-kind.ts'
import type { WorkQueue } from './work-queue.ts'

export interface LookContext {
  sql: Sql
  log: Logger
  /** What is done here. */
  queues(): readonly WorkQueue[]
  lanes: readonly Lane[]
  /** There is work in a queue, now or after so long. */
  due(queue: WorkQueue, inMs: number): void
  everyMs: number
  stopping: AbortSignal
}

/**
 * Looks for work that nobody has told of: hints may be lost, and other replicas set due times as well. One statement
 * for all queues of this process, every few seconds. Each loop sleeps until a time that is known, so this is the safety
 * net and not the plan.
 */
export async function lookForWork(context: LookContext): Promise<void> {
  const { log, everyMs, stopping } = context
  while (!stopping.aborted) {
    // An abort only ends the pause.
    await sleep(everyMs, undefined, { signal: stopping }).catch(() => {})
    if (stopping.aborted) return
    try {
      await look(context)
    } catch (error) {
      logFailure(log, error, 'looking for work failed; trying again')
    }
  }
}

async function look({ sql, queues, lanes, due, everyMs }: LookContext): Promise<void> {
  const all = queues()
  const found = await readNextDue(sql, { queues: all, lanes })
  for (const { kind, of, inMs } of found) {
    // What is later is found by a later look.
    if (inMs <= everyMs * 2) due({ kind, of }, Math.max(0, inMs))
  }
}

/** Of sends and copies no more than the first so many are looked at: their indexes are in another order. */
const MOST_LOOKED_AT = 1_000

/** When the next work of each queue is due, where there is any. Each kind is named, so that PostgreSQL finds its index. */
function readNextDue(
  sql: Sql,
  { queues, lanes }: { queues: readonly WorkQueue[]; lanes: readonly Lane[] },
): Promise<(WorkQueue & { inMs: number })[]> {
  const namesOf = (kind: WorkName) => queues.filter((queue) => queue.kind === kind).map(({ of }) => of)
  const lane = sql`unnest(${lanes as Lane[]}::text[]) l (lane)`
  const polled = (kind: 'poll' | 'cancel') => sql`
    select ${kind} as kind, q.name as of, (
      select min((
        select w.due_at from holdfast.work w
        where w.kind = ${kind === 'poll' ? sql`'poll'` : sql`'cancel'`} and w.provider = q.name and w.lane = l.lane
        order by w.due_at limit 1
      )) from ${lane}
    ) as due_at
    from unnest(${namesOf(kind)}::text[]) q (name)
  `
  return sql<(WorkQueue & { inMs: number })[]>`
    select kind, of, (extract(epoch from due_at - now()) * 1000)::float8 as "inMs" from (
      ${polled('poll')} union all ${polled('cancel')} union all
      select 'send', q.name, (
        select min(n.due_at) from ${lane} cross join lateral (
          select w.due_at from holdfast.work w where w.kind = 'send' and w.provider = q.name and w.lane = l.lane
          order by w.priority desc, w.turn, w.id limit ${MOST_LOOKED_AT}
        ) n
      )
      from unnest(${namesOf('send')}::text[]) q (name)
      union all
      select 'copy', q.name, (
        select min(n.due_at) from (
          select w.due_at from holdfast.work w where w.kind = 'copy' order by w.needed_by, w.due_at limit ${MOST_LOOKED_AT}
        ) n
      )
      from unnest(${namesOf('copy')}::text[]) q (name)
      union all
      select 'deliver', q.name, (select min(w.due_at) from holdfast.work w where w.kind = 'deliver')
      from unnest(${namesOf('deliver')}::text[]) q (name)
    ) next where due_at is not null
  `
}
