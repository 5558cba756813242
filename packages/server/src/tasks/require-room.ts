import type { Tx } from '../database/connect.ts'
import { HoldfastError } from '../errors.ts'

/** How many tasks a user may have. */
export interface Room {
  /** New ones in a minute. */
  perMinute: number
  /** Unfinished ones at a time. */
  unfinished: number
}

/** Nobody knows when one of them ends. */
const UNFINISHED_RETRY_SECONDS = 15

/**
 * Refuses a user's task above so many in a minute , or unfinished at a time, over all replicas: the count is of the
 * tasks themselves, without those that other tasks made. Requests of one user take turns here, or two at once would
 * both see room for one.
 */
export async function requireRoom(tx: Tx, userId: string, { perMinute, unfinished }: Room): Promise<void> {
  // Sent together, done one after the other: the counts see what was committed before the turn came.
  const [, [counted]] = await Promise.all([
    tx`select pg_advisory_xact_lock(hashtextextended(${`holdfast:user:${userId}`}, 0))`,
    tx<[{ unfinished: number; recent: number; leavesIn: number | null }]>`
      select
        (
          select count(*)::int from (
            select from holdfast.tasks
            where user_id = ${userId} and status in ('pending', 'running') and parent_id is null
            limit ${unfinished}
          ) own
        ) as unfinished,
        count(*)::int as recent, min(recent.leaves_in) as "leavesIn"
      from (
        -- Ids begin with the time in milliseconds, so the last minute is a range of the index on (user_id, id).
        select greatest(0, extract(epoch from created_at + interval '1 min' - now()))::float8 as leaves_in
        from holdfast.tasks
        where user_id = ${userId} and parent_id is null
          and id >= (lpad(to_hex((extract(epoch from now() - interval '1 min') * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid
        order by id desc
        limit ${perMinute}
      ) recent
    `,
  ])
  if (counted.recent >= perMinute) {
    const retryAfterSeconds = Math.max(1, Math.ceil(counted.leavesIn ?? 0))
    throw new HoldfastError(
      'RATE_LIMITED',
      `At most ${perMinute} tasks a minute. Try again in ${retryAfterSeconds} s.`,
      { retryAfterSeconds },
    )
  }
  if (counted.unfinished >= unfinished) {
    throw new HoldfastError(
      'TOO_MANY_UNFINISHED',
      `At most ${unfinished} tasks may be unfinished at a time. Wait until one has ended, or cancel one.`,
      { retryAfterSeconds: UNFINISHED_RETRY_SECONDS },
    )
  }
}
