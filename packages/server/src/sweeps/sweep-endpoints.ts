import type { SweepContext } from './run-sweeps.ts'

/** A server names its endpoints every ten minutes. Three times missed, nobody has it in their settings. */
const UNNAMED_AFTER_MIN = 30
/** At most so much is added at a time: what is longer is time in which no server was running, or it came too late. */
const MOST_PER_SWEEP_MIN = 5
const TELL_AFTER_DAYS = 1
const FORGET_AFTER_DAYS = 30

interface Absent {
  id: string
  isLong: boolean
}

/**
 * Forgets endpoints, and what was still to be told to them, when servers have been running for 30 days and none of them
 * had it in its settings. Time in which Holdfast was stopped does not count. An alert says so from the first day on.
 */
export async function sweepEndpoints({ sql, alert, webhooks = [] }: SweepContext): Promise<number> {
  const own = webhooks.map(({ name }) => name)
  const absent = await sql<Absent[]>`
    update holdfast.webhook_endpoints set
      absent_for = absent_for + least(now() - coalesce(absent_checked_at, now()), ${MOST_PER_SWEEP_MIN} * interval '1 min'),
      absent_checked_at = now()
    where seen_at <= now() - ${UNNAMED_AFTER_MIN} * interval '1 min' and id <> all(${own}::text[])
    returning id, absent_for >= ${TELL_AFTER_DAYS} * interval '1 day' as "isLong"
  `
  for (const { id } of absent.filter(({ isLong }) => isLong)) {
    alert({
      name: 'endpoint-not-configured',
      key: id,
      level: 'critical',
      message: `No running server has the webhook endpoint "${id}" in its settings, and what is to be told to it waits. Put it back, or take it away for good with: select holdfast.forget_endpoint('${id.replaceAll("'", "''")}'). After ${FORGET_AFTER_DAYS} days it is taken away by itself.`,
    })
  }
  // Locked first: an endpoint that is named again at this moment stays.
  const forgotten = await sql`
    select holdfast.forget_endpoint(e.id) from (
      select id from holdfast.webhook_endpoints
      where absent_for >= ${FORGET_AFTER_DAYS} * interval '1 day' and id <> all(${own}::text[])
      for update skip locked
    ) e
  `
  return forgotten.length
}
