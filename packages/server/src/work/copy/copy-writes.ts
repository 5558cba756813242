import type { Notify, WriteContext } from '../../bus/create-notify.ts'
import type { Sql, Tx } from '../../database/connect.ts'
import { retryDeadlock } from '../../database/retry-deadlock.ts'
import { type Transaction, transaction } from '../../database/transaction.ts'
import type { Fence } from '../../engine/claim.ts'
import { heldAmong, isHeld, takeOver } from '../../engine/claim.ts'
import { STORE } from '../../engine/work-queue.ts'
import type { Aftermath } from '../../tasks/aftermath.ts'

/** A claim on the copying of one file. */
export interface CopyClaim extends Fence {
  taskId: string
  ordinal: number
}

// All that is written about a file on its way, each only while the claim is held: true if it was. What ends a claim
// and leaves the work raises the epoch, so that a prolongation on its way does not move what was set here. Locks are
// taken in the order work → task → file: who saves a task again holds the task and then writes its files.

/** The try failed; the next one comes after a while. */
export function writeFailure(
  { sql, notify }: WriteContext,
  claim: CopyClaim,
  { error, delayMs }: { error: string; delayMs: number },
): Promise<boolean> {
  return transaction(sql, async (tx) => {
    const held = await tx`
      update holdfast.work w set attempts = least(w.attempts + 1, 30000), ${takeOver(tx)},
        due_at = now() + ${delayMs}::float8 * interval '1 ms'
      where ${isClaimed(tx, claim)}
    `
    if (held.count === 0) return false
    tx.afterCommit(() => notify.dueHere('copy', STORE, delayMs))
    await tx`
      update holdfast.artifacts set attempts = least(attempts + 1, 30000), last_error = ${error} where ${isFile(tx, claim)}
    `
    return true
  })
}

/** The source gave out another URL. Users see it at once: the old one is dead for them, too. */
export function writeRefresh(
  { sql, notify }: WriteContext,
  claim: CopyClaim,
  { url, lifetimeMs }: { url: string; lifetimeMs: number | null },
): Promise<boolean> {
  const expiresAt = (tx: Tx) => tx`now() + ${lifetimeMs}::float8 * interval '1 ms'`
  return transaction(sql, async (tx) => {
    const held =
      await tx`update holdfast.work w set needed_by = ${expiresAt(tx)} where ${isClaimed(tx, claim)}`
    if (held.count === 0) return false
    await raiseVersion(tx, notify, claim)
    await tx`
      update holdfast.artifacts
      set first_url = coalesce(first_url, source_url), source_url = ${url}, source_expires_at = ${expiresAt(tx)}
      where ${isFile(tx, claim)} and state = 'remote'
    `
    return true
  })
}

/**
 * There will be no copy, although the source still has the file: it stays `remote`, with the reason. The work waits for
 * the death of the source, to say so then.
 */
export function writeGivenUp(
  { sql, notify }: WriteContext,
  claim: CopyClaim,
  { error, problem }: { error: string; problem: string },
): Promise<boolean> {
  return transaction(sql, async (tx) => {
    const held = await tx`
      update holdfast.work w set attempts = least(w.attempts + 1, 30000), ${takeOver(tx)}, due_at = coalesce(w.needed_by, now())
      where ${isClaimed(tx, claim)}
    `
    if (held.count === 0) return false
    await tx`
      delete from holdfast.work
      where task_id = ${claim.taskId} and kind = 'copy' and part = ${claim.ordinal} and needed_by is null
    `
    await raiseVersion(tx, notify, claim)
    await tx`
      update holdfast.artifacts
      set problem = ${problem}, last_error = ${error}, attempts = least(attempts + 1, 30000)
      where ${isFile(tx, claim)} and state = 'remote'
    `
    return true
  })
}

/** The source has died and there is no copy. `lost`: it died before anybody had decided not to copy it. */
export function writeExpired(
  { sql, notify }: WriteContext,
  claim: CopyClaim,
  { error, problem, lost }: { error: string; problem: string; lost: Pick<Aftermath, 'fileLost'> | null },
): Promise<boolean> {
  return transaction(sql, async (tx, over) => {
    const held = await tx`delete from holdfast.work w where ${isClaimed(tx, claim)}`
    if (held.count === 0) return false
    await raiseVersion(tx, notify, claim)
    const expired = await tx`
      update holdfast.artifacts
      set state = 'expired', problem = ${problem}, last_error = ${error}, attempts = least(attempts + 1, 30000)
      where ${isFile(tx, claim)} and state = 'remote'
    `
    if (expired.count > 0) await lost?.fileLost({ tx, over }, claim.taskId)
    return true
  })
}

/** There is nothing to copy, or nobody to copy it for. */
export async function dropCopy(sql: Sql, claim: CopyClaim): Promise<boolean> {
  const dropped = await sql`delete from holdfast.work w where ${isClaimed(sql, claim)}`
  return dropped.count > 0
}

/** Others may take them up at once; no try is counted. */
export async function handBackCopies(sql: Sql, claims: readonly CopyClaim[]): Promise<void> {
  await retryDeadlock(
    () =>
      sql`update holdfast.work w set due_at = now(), ${takeOver(sql)} ${heldAmong(sql, 'copy', claims.map(toClaim))}`,
  )
}

/** Prolongs claims and returns which are still held, by work id. */
export async function renewCopies(
  sql: Sql,
  claims: readonly CopyClaim[],
  leaseMs: number,
): Promise<Set<string>> {
  const held = await retryDeadlock(
    () => sql<{ id: string }[]>`
      update holdfast.work w set due_at = now() + ${leaseMs}::float8 * interval '1 ms'
      ${heldAmong(sql, 'copy', claims.map(toClaim))} returning w.id::text
    `,
  )
  return new Set(held.map(({ id }) => id))
}

/** Whether an object was left over by a try whose claim was lost: nobody points to it and nobody is about to write it. */
export async function isLeftOver(
  sql: Sql,
  { taskId, ordinal, artifactId, key }: { taskId: string; ordinal: number; artifactId: string; key: string },
): Promise<boolean> {
  const [row] = await sql<[{ wanted: boolean }]>`
    select exists (select from holdfast.artifacts where id = ${artifactId} and state = 'stored' and object_key = ${key})
      or exists (select from holdfast.work where task_id = ${taskId} and kind = 'copy' and part = ${ordinal}) as wanted
  `
  return !row.wanted
}

const toClaim = ({ ordinal, ...claim }: CopyClaim) => ({ ...claim, part: ordinal })

function isClaimed(sql: Sql | Tx, claim: CopyClaim) {
  return isHeld(sql, 'copy', toClaim(claim))
}

function isFile(sql: Sql | Tx, { taskId, ordinal }: CopyClaim) {
  return sql`task_id = ${taskId} and ordinal = ${ordinal}`
}

/**
 * A new version of the task, so that every tab gets it; its user is told when that is committed. Before the file is
 * written, since it locks the task.
 */
async function raiseVersion(tx: Transaction, notify: Notify, { taskId }: CopyClaim): Promise<void> {
  const [task] = await tx<{ userId: string }[]>`
    update holdfast.tasks set updated_at = now() where id = ${taskId} returning user_id as "userId"
  `
  if (task) tx.afterCommit(() => notify.changed(task.userId))
}
