import { performance } from 'node:perf_hooks'
import type { Sql } from '../database/connect.ts'
import { conversationsChangedSince } from '../plugins/conversations/read-conversations.ts'
import { changedSince, currentCursor, currentRun, parseCursor } from '../tasks/sync-cursor.ts'
import type { StreamOutage } from './stream-outage.ts'
import type { UserFeed } from './user-feed.ts'

/** Makes up for lost hints. */
export interface FeedSweeper {
  add(feed: UserFeed): void
  remove(feed: UserFeed): void
  /** It has looked for itself: its next turn is a whole interval away. */
  looked(feed: UserFeed): void
  stop(): void
}

export interface FeedSweeperOptions {
  sql: Sql
  outage: StreamOutage
  /** How often each feed is looked after, give or take a quarter. */
  sweepMs: number
  random: () => number
}

/** Users per statement: each costs a look into two indexes. */
const MOST_AT_ONCE = 500
/** So many slices of all feeds, so that none of them is large. */
const SLICES = 10

/**
 * Asks for many feeds in one statement which of them have something new, and only those look. Feeds have their turns at
 * times of their own, so ten thousand of them are a small question every half second and never a burst.
 */
export function createFeedSweeper({ sql, outage, sweepMs, random }: FeedSweeperOptions): FeedSweeper {
  const dueAt = new Map<UserFeed, number>()
  let timer: NodeJS.Timeout | undefined
  let isStopped = false

  function putOff(feed: UserFeed): void {
    dueAt.set(feed, performance.now() + sweepMs * (0.75 + random() / 2))
  }

  function arm(): void {
    if (isStopped || timer || dueAt.size === 0) return
    timer = setTimeout(() => {
      void sweep().finally(() => {
        timer = undefined
        arm()
      })
    }, sweepMs / SLICES)
  }

  async function sweep(): Promise<void> {
    const now = performance.now()
    const due: { feed: UserFeed; cursor: string }[] = []
    for (const [feed, at] of dueAt) {
      const cursor = at <= now ? feed.cursor() : null
      if (cursor !== null) due.push({ feed, cursor })
    }
    for (let from = 0; from < due.length; from += MOST_AT_ONCE)
      await ask(due.slice(from, from + MOST_AT_ONCE))
  }

  async function ask(batch: { feed: UserFeed; cursor: string }[]): Promise<void> {
    for (const { feed } of batch) if (dueAt.has(feed)) putOff(feed)
    const users = batch.map(({ feed }) => feed.userId)
    const places = batch.map(({ cursor }) => parseCursor(cursor))
    const runs = places.map((place) => place?.run ?? '')
    const xids = places.map((place) => place?.xid ?? '0')
    try {
      const rows = await sql<{ cursor: string; changed: boolean }[]>`
        select ${currentCursor(sql)} as cursor,
          f.run <> ${currentRun(sql)} or changed.at is not null as changed
        from unnest(${users}::text[], ${runs}::text[], ${xids}::text[]) with ordinality as f (user_id, run, xid, n)
        left join lateral (
          (
            select true as at from holdfast.tasks t
            where t.user_id = f.user_id and ${changedSince(sql, sql`f.xid::xid8`)} limit 1
          )
          union all
          (
            select true from holdfast.conversations c
            where ${conversationsChangedSince(sql, sql`f.user_id`, sql`f.xid::xid8`)} limit 1
          )
          limit 1
        ) changed on true
        order by f.n
      `
      outage.back()
      for (const [index, { feed, cursor }] of batch.entries()) {
        const row = rows[index]
        if (!row || !dueAt.has(feed)) continue
        if (row.changed) feed.hint('changed')
        else feed.advance(cursor, row.cursor)
      }
    } catch (error) {
      outage.away(error)
    }
  }

  return {
    add(feed) {
      putOff(feed)
      arm()
    },
    remove: (feed) => void dueAt.delete(feed),
    looked(feed) {
      if (dueAt.has(feed)) putOff(feed)
    },
    stop() {
      isStopped = true
      clearTimeout(timer)
      dueAt.clear()
    },
  }
}
