import { performance } from 'node:perf_hooks'
import type { Logger } from 'pino'
import type { Bus } from '../../bus/bus.ts'
import { createBatcher } from '../../concurrency/batcher.ts'
import type { Sql } from '../../database/connect.ts'
import type { HotStore, ProgressReport } from '../../hot/hot-store.ts'
import { logFailure } from '../../outage-log.ts'
import { writeProgress } from '../../tasks/write-progress.ts'

/** What a poll has found out. */
export interface FoundProgress {
  taskId: string
  userId: string
  /** Null where none was told. */
  progress: number | null
  /** How many are ahead of it at the provider; null where that was not told. */
  queuePosition: number | null
  /** The same, as the row had it when it was polled. */
  writtenPosition: number | null
  /** Since acceptance. */
  ageMs: number
  /** How long after its acceptance it will probably be done, at that age; null if nobody knows. */
  expectedMs(ageMs: number): number | null
}

export interface ProgressWriter {
  /** Shows progress at once, to clients that watch, and writes it and the place in the queue down when it is time. */
  report(found: FoundProgress): void
  /** Whether something was reported of it that is not written down yet. */
  isWaiting(taskId: string): boolean
  /** The task has ended: how far it was shown to be, null if that is not known here. */
  take(taskId: string): number | null
  /** Writes down what has not been, and resolves when that is done. */
  flush(): Promise<void>
}

export interface ProgressWriterOptions {
  sql: Sql
  hot: HotStore
  bus: Bus
  log: Pick<Logger, 'debug' | 'warn' | 'error'>
  /** Rows were written: somebody may have to be told. @default nobody */
  onWritten?: () => void
  /** The least time between two writes of one task's row. @default 5000 */
  writeEveryMs?: number
  now?: () => number
}

interface Tracked {
  userId: string
  progress: number | null
  queuePosition: number | null
  /** On our clock. */
  acceptedAt: number
  expectedMs: FoundProgress['expectedMs']
  writtenAt: number
  reportedAt: number
}

/** How often it is looked whose time has come: rows of that long are written together. */
const GATHER_MS = 250
const MOST_AT_ONCE = 1_000
/** What ended elsewhere is not reported on any more. */
const FORGET_AFTER_MS = 10 * 60_000

/**
 * Progress, from many polls to few writes: hot at once and many in one batch, followed by a hint to who watches; to
 * the database when `writeEveryMs` have passed since the row was written, many rows in one statement. One per engine.
 */
export function createProgressWriter(options: ProgressWriterOptions): ProgressWriter {
  const { sql, hot, bus, log, writeEveryMs = 5_000, now = () => performance.now() } = options
  const tracked = new Map<string, Tracked>()
  const unwritten = new Set<string>()
  let timer: NodeJS.Timeout | undefined
  let forgotAt = now()
  let isAway = false
  let writing = Promise.resolve()

  const heat = createBatcher<ProgressReport>({
    maxDelayMs: 10,
    write: async (batch) => {
      await hot.write(batch)
      // Where the others cannot read what is hot here, they are told when it is in the database.
      const reach = hot.isShared ? 'all' : 'here'
      for (const userId of new Set(batch.map((report) => report.userId)))
        bus.publish(userId, 'progressed', reach)
    },
    onError: (error) => log.warn({ err: error }, 'progress could not be shown; the database will tell'),
  })

  function arm(): void {
    timer ??= setTimeout(() => {
      timer = undefined
      write((task) => now() - task.writtenAt >= writeEveryMs)
      if (unwritten.size > 0) arm()
    }, GATHER_MS)
  }

  function write(isDue: (task: Tracked) => boolean): void {
    let batch: (Tracked & { taskId: string })[] = []
    for (const taskId of unwritten) {
      const task = tracked.get(taskId)
      if (task && !isDue(task)) continue
      unwritten.delete(taskId)
      if (!task) continue
      task.writtenAt = now()
      batch.push({ ...task, taskId })
      if (batch.length < MOST_AT_ONCE) continue
      send(batch)
      batch = []
    }
    if (batch.length > 0) send(batch)
  }

  /** One after the other: the next may be about the same rows. */
  function send(batch: readonly (Tracked & { taskId: string })[]): void {
    writing = writing.then(async () => {
      try {
        const { users, moved } = await writeProgress(
          sql,
          batch
            .map(({ taskId, progress, queuePosition, acceptedAt, expectedMs }) => ({
              taskId,
              progress,
              queuePosition,
              expectedMs: expectedMs(now() - acceptedAt),
            }))
            // In the order of the key, so that two replicas do not wait for each other in a circle.
            .toSorted((a, b) => (a.taskId < b.taskId ? -1 : 1)),
        )
        if (isAway) log.debug('progress is written again')
        isAway = false
        if (users.size > 0) options.onWritten?.()
        // A place in the queue is hot nowhere: clients that watch find it in the row.
        for (const user of moved) if (bus.isWatched(user)) bus.publish(user)
        if (hot.isShared) return
        for (const user of users) {
          if (!moved.has(user) && bus.isWatched(user)) bus.publish(user, 'changed', 'elsewhere')
        }
      } catch (error) {
        if (!isAway) logFailure(log, error, 'progress could not be written; it is shown, and written later')
        isAway = true
        for (const { taskId } of batch) if (tracked.has(taskId)) unwritten.add(taskId)
        arm()
      }
    })
  }

  function forgetSilent(): void {
    if (now() - forgotAt < FORGET_AFTER_MS / 10) return
    forgotAt = now()
    for (const [taskId, { reportedAt }] of tracked) {
      if (now() - reportedAt >= FORGET_AFTER_MS && !unwritten.has(taskId)) tracked.delete(taskId)
    }
  }

  return {
    report({ taskId, userId, ageMs, expectedMs, queuePosition, writtenPosition, ...found }) {
      forgetSilent()
      const told = found.progress === null ? null : Math.min(99, Math.max(0, Math.floor(found.progress)))
      const before = tracked.get(taskId)
      if (before) before.reportedAt = now()
      const hasRisen = told !== null && told > (before?.progress ?? -1)
      if (!hasRisen && queuePosition === writtenPosition && !unwritten.has(taskId)) return
      const progress = hasRisen ? told : (before?.progress ?? null)
      const acceptedAt = now() - ageMs
      tracked.set(taskId, {
        userId,
        progress,
        queuePosition,
        acceptedAt,
        expectedMs,
        // Its acceptance was a write.
        writtenAt: before?.writtenAt ?? acceptedAt,
        reportedAt: now(),
      })
      unwritten.add(taskId)
      if (hasRisen) heat.add({ userId, taskId, progress: told })
      arm()
    },
    isWaiting: (taskId) => unwritten.has(taskId),
    take(taskId) {
      const progress = tracked.get(taskId)?.progress ?? null
      tracked.delete(taskId)
      unwritten.delete(taskId)
      return progress
    },
    async flush() {
      clearTimeout(timer)
      timer = undefined
      write(() => true)
      await Promise.all([heat.flush(), writing])
      // What could not be written now is not waited for: the next report brings it again.
      clearTimeout(timer)
      timer = undefined
    },
  }
}
