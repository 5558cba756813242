import type { PendingQuery, Row } from 'postgres'
import type { AnySql } from '../database/connect.ts'

// A task's turn, as docs/ARCHITECTURE.md ("The order of claims") has it: `lowestTurn` plus `ownWaiting`, read before the
// task is made. Two parts, because tasks that are made together share the first one.

type Part = PendingQuery<Row[]> | string | number

export interface Queue {
  provider: Part
  lane: Part
  priority: Part
}

/** The lowest turn that waits in a queue. */
export function lowestTurn(sql: AnySql, { provider, lane, priority }: Queue) {
  return sql`coalesce((
    select w.turn from holdfast.work w
    where w.kind = 'send' and w.provider = ${provider} and w.lane = ${lane} and w.priority = ${priority}
    order by w.turn limit 1
  ), 0)`
}

/** How many tasks of a user wait in a queue. */
export function ownWaiting(sql: AnySql, { provider, lane, priority }: Queue, userId: Part) {
  return sql`(
    select count(*) from holdfast.tasks t
    -- Pending, in words of the index of a user's own tasks: that of all pending ones may be long.
    where t.user_id = ${userId} and t.status in ('pending', 'running') and t.status <> 'running'
      and t.provider = ${provider} and t.lane = ${lane} and t.priority = ${priority}
  )`
}
