import type { Tx } from '../database/connect.ts'
import { HoldfastError } from '../errors.ts'

/**
 * Refuses a user's task above so many in a minute (E3), over all replicas: the count is of the tasks themselves.
 * Requests of one user take turns here, or two at once would both see room for one.
 */
export async function requireRoomInMinute(tx: Tx, userId: string, perMinute: number): Promise<void> {
  await tx`select pg_advisory_xact_lock(hashtextextended(${`holdfast:user:${userId}`}, 0))`
  // Ids begin with the time in milliseconds, so the last minute is a range of the index on (user_id, id).
  const recent = await tx<{ leavesIn: number }[]>`
    select greatest(0, extract(epoch from created_at + interval '1 min' - now()))::float8 as "leavesIn"
    from holdfast.tasks
    where user_id = ${userId}
      and id >= (lpad(to_hex((extract(epoch from now() - interval '1 min') * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid
    order by id desc
    limit ${perMinute}
  `
  const oldest = recent.at(-1)
  if (recent.length < perMinute || !oldest) return
  const retryAfterSeconds = Math.max(1, Math.ceil(oldest.leavesIn))
  throw new HoldfastError(
    'RATE_LIMITED',
    `At most ${perMinute} tasks a minute. Try again in ${retryAfterSeconds} s.`,
    {
      retryAfterSeconds,
    },
  )
}
