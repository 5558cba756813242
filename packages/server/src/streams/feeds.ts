import type { Bus } from '../bus/bus.ts'
import type { Sql } from '../database/connect.ts'
import { HoldfastError } from '../errors.ts'
import type { Presenter } from '../tasks/present-tasks.ts'
import type { StreamOutage } from './stream-outage.ts'
import { createFeedSweeper } from './sweep-feeds.ts'
import { createUserFeed, type FeedReader, type UserFeed } from './user-feed.ts'

/** The feeds of all users with open streams at this process. */
export interface Feeds {
  /**
   * Enters a stream. Its user counts as watched from this moment until it leaves.
   *
   * @param first done before anything is read, if the user was not watched here yet
   */
  join(stream: {
    userId: string
    cursor: string | null
    onNews(): void
    first(): Promise<void>
  }): Promise<FeedReader>
  close(): void
}

export interface FeedsOptions {
  sql: Sql
  bus: Bus
  present: Presenter
  outage: StreamOutage
  /** Whether there are any. @default true */
  conversations?: boolean
  sweepMs: number
  /** How many streams a user may have open here. */
  perUser: number
  random?: () => number
}

interface OpenFeed {
  feed: UserFeed
  unsubscribe(): void
  streams: number
}

/** A stream that is closed is noticed within a heartbeat or two. */
const RETRY_AFTER_SECONDS = 30

export function createFeeds(options: FeedsOptions): Feeds {
  const { sql, bus, present, outage, perUser, random = Math.random } = options
  const open = new Map<string, OpenFeed>()
  const sweeper = createFeedSweeper({ sql, outage, sweepMs: options.sweepMs, random })

  function openFeed(userId: string): OpenFeed {
    const feed: UserFeed = createUserFeed(userId, {
      sql,
      present,
      outage,
      conversations: options.conversations,
      onLook: () => sweeper.looked(feed),
    })
    const opened = { feed, streams: 0, unsubscribe: bus.subscribe(userId, feed.hint) }
    open.set(userId, opened)
    sweeper.add(feed)
    return opened
  }

  function leave(userId: string, opened: OpenFeed): void {
    opened.streams -= 1
    if (opened.streams > 0 || open.get(userId) !== opened) return
    open.delete(userId)
    opened.unsubscribe()
    sweeper.remove(opened.feed)
    opened.feed.close()
  }

  return {
    async join({ userId, cursor, onNews, first }) {
      const isFirst = !open.has(userId)
      const opened = open.get(userId) ?? openFeed(userId)
      if (opened.streams >= perUser) {
        throw new HoldfastError(
          'RATE_LIMITED',
          `At most ${perUser} streams of one user may be open at a time. Close one, or let one serve several pages.`,
          { retryAfterSeconds: RETRY_AFTER_SECONDS },
        )
      }
      opened.streams += 1
      let hasLeft = false
      const leaveOnce = () => {
        if (hasLeft) return
        hasLeft = true
        leave(userId, opened)
      }
      try {
        if (isFirst) await first()
        const reader = await opened.feed.join(cursor, onNews)
        return {
          snapshot: reader.snapshot,
          next: reader.next,
          leave() {
            reader.leave()
            leaveOnce()
          },
        }
      } catch (error) {
        leaveOnce()
        throw error
      }
    },
    close() {
      sweeper.stop()
      for (const { feed, unsubscribe } of open.values()) {
        unsubscribe()
        feed.close()
      }
      open.clear()
    },
  }
}
