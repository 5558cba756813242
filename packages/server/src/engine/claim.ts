import type { PendingQuery, Row } from 'postgres'
import type { AnySql } from '../database/connect.ts'
import type { WorkName } from './work-kind.ts'

type Fragment = PendingQuery<Row[]>

// The fence: all that is known of it in SQL. Every claim raises the epoch of its row of work. What only a claim's holder
// may write says in its condition which claim that is, or locks the row under that condition first and then writes:
// after a wait for a lock, PostgreSQL looks at the condition of the locked row again, and at no other.

/** Proof of holding a claim. A process that has claimed the same work later has raised its epoch. */
export interface Fence {
  workId: string
  epoch: number
}

/** Which work was claimed. */
export interface ClaimOf extends Fence {
  taskId: string
  /** Which of several of a kind. @default 0 */
  part?: number
}

/** Of a row of work `w`: whether that claim still holds. */
export function isHeld(sql: AnySql, kind: WorkName, { taskId, part = 0, workId, epoch }: ClaimOf): Fragment {
  return sql`w.task_id = ${taskId} and w.kind = ${kind} and w.part = ${part} and w.id = ${workId} and w.epoch = ${epoch}`
}

/** `from … where …`: the rows of work `w` of those claims that still hold. */
export function heldAmong(sql: AnySql, kind: WorkName, claims: readonly ClaimOf[]): Fragment {
  // In the order of the key, so that two batches seldom wait for each other in a circle.
  const sorted = claims.toSorted((a, b) => (a.taskId < b.taskId ? -1 : 1))
  return sql`
    from unnest(
      ${sorted.map(({ taskId }) => taskId)}::uuid[], ${sorted.map(({ part = 0 }) => part)}::int[],
      ${sorted.map(({ workId }) => workId)}::bigint[], ${sorted.map(({ epoch }) => epoch)}::int[]
    ) as held (task_id, part, id, epoch)
    where w.task_id = held.task_id and w.kind = ${kind} and w.part = held.part and w.id = held.id and w.epoch = held.epoch
  `
}

/**
 * In the `set` of a row of work `w`: takes it from whoever holds it. Every claim does so, and everything that sets a due
 * time which a holder on its way must not undo.
 */
export function takeOver(sql: AnySql): Fragment {
  return sql`epoch = w.epoch + 1`
}
