import { handBackMirrors, renewMirrors } from '../artifacts/mirror-writes.ts'
import { isDatabaseAway } from '../database/database-errors.ts'
import { logFailure, outageLogOf } from '../outage-log.ts'
import { type ClaimedMirror, claimMirrors, countMirrors } from './claim-mirrors.ts'
import type { MirrorContext } from './mirror-context.ts'
import { runMirror } from './run-mirror.ts'
import type { Wakeable } from './wakeable.ts'

const PAUSE_WHEN_AWAY_MS = 1_000
/**
 * As many files wait, claimed, for a place as were moved in this time: so small ones keep all places busy, and large
 * ones are left to other replicas.
 */
const AHEAD_MS = 500
const MOST_AHEAD = 128
/** Files that are copied and not yet written down: beyond this the database is the one to wait for. */
const MOST_HELD = 500
const COUNT_EVERY_MS = 15_000

interface Held {
  work: ClaimedMirror
  claimedAt: number
  /** Sent to find out whether the store is back. */
  isProbe: boolean
  /** Gives it up. */
  ending: AbortController
}

/**
 * Claims files and copies them until told to stop, a number at a time, then waits for what is under way. Every replica
 * does so, without a lock: whoever dies is made up for when its claims run out.
 */
export async function runMirrors(
  context: MirrorContext,
  { alarm, idleMs }: { alarm: Wakeable; idleMs: number },
): Promise<void> {
  const { sql, objects, options, stopping, breaker, metrics, log } = context
  const database = outageLogOf(log, 'PostgreSQL')
  const held = new Set<Held>()
  const waiting: Held[] = []
  const underWay = new Set<Promise<void>>()
  const movedAt: number[] = []
  let moving = 0

  function ahead(): number {
    const since = performance.now() - AHEAD_MS
    return movedAt.filter((at) => at > since).length
  }

  function startNext(): void {
    while (moving < options.concurrency && breaker.state !== 'open') {
      const next = waiting.shift()
      if (!next) break
      start(next)
    }
  }

  function start(file: Held): void {
    const { work, claimedAt, ending, isProbe } = file
    let isMoving = true
    moving += 1
    const moved = () => {
      if (!isMoving) return
      isMoving = false
      moving -= 1
      movedAt.push(performance.now())
      if (movedAt.length > MOST_AHEAD) movedAt.shift()
      startNext()
      if (waiting.length <= ahead() / 2) alarm.wake()
    }
    const finished = runMirror({ context, work, claimedAt, signal: ending.signal, moved })
      .catch((error: unknown) => {
        // The claim has already set when it is tried again.
        const level = !isDatabaseAway(error) ? 'error' : database.isAway ? 'debug' : 'warn'
        const { taskId, traceId } = work
        log[level]({ err: error, taskId, traceId }, 'the copying of a result could not be finished')
      })
      .finally(() => {
        held.delete(file)
        underWay.delete(finished)
        if (isProbe) breaker.learnedNothing(performance.now())
        moved()
      })
    underWay.add(finished)
  }

  /** Lets go of what was claimed and not begun. */
  async function handBack(): Promise<void> {
    const files = waiting.splice(0)
    for (const file of files) held.delete(file)
    if (files.length === 0) return
    await handBackMirrors(
      sql,
      files.map(({ work }) => work),
    )
  }

  /** Claims what there is room for. Returns how long to wait before the next try. */
  async function fill(): Promise<number> {
    metrics.mirroring(objects.name, moving, breaker.state)
    if (breaker.state === 'open') await handBack()
    const allowed = breaker.allowed(performance.now())
    const wanted = ahead()
    const places = options.concurrency + wanted - moving - waiting.length
    const room = Math.min(places, MOST_HELD - held.size, allowed)
    // Half of those ahead may have begun before more are claimed: fewer, larger claims.
    if (room < Math.min(allowed, Math.max(1, wanted / 2))) return idleMs
    const claimed = await claimMirrors(sql, { limit: room, leaseMs: options.leaseMs })
    for (const [provider, steps] of Map.groupBy(claimed, (work) => work.provider)) {
      metrics.claimed(provider, 'mirror', steps)
    }
    const isProbe = allowed === 1 && claimed.length > 0
    if (isProbe) breaker.probing()
    for (const work of claimed) {
      const file = { work, isProbe, claimedAt: performance.now(), ending: new AbortController() }
      held.add(file)
      waiting.push(file)
    }
    startNext()
    return claimed.length === room ? 0 : idleMs
  }

  /** Tells the others that we are still at it, and learns what was taken over. */
  async function renew(): Promise<void> {
    const files = [...held]
    if (files.length === 0) return
    const claims = files.map(({ work }) => work)
    const kept = await renewMirrors(sql, claims, options.leaseMs)
    for (const { work, ending } of files) if (!kept.has(work.workId)) ending.abort()
  }

  const tellAnyway = (what: string) => (error: unknown) => logFailure(log, error, what)
  const renewing = setInterval(
    () => void renew().catch(tellAnyway('claims on files could not be prolonged')),
    options.leaseMs / 3,
  )
  const count = async () => metrics.mirrorQueue(await countMirrors(sql))
  const counting = setInterval(
    () => void count().catch(tellAnyway('the files to copy could not be counted')),
    COUNT_EVERY_MS,
  )
  const giveUp = () => {
    for (const { ending } of held) ending.abort()
  }
  stopping.addEventListener('abort', giveUp)
  try {
    while (!stopping.aborted) {
      try {
        const pauseMs = await fill()
        database.back()
        if (pauseMs > 0) await alarm.pause(pauseMs, stopping)
      } catch (error) {
        logFailure(log, error, 'looking for files to copy failed; trying again')
        await alarm.pause(PAUSE_WHEN_AWAY_MS, stopping)
      }
    }
    await handBack().catch(tellAnyway('files could not be handed back; others take them up a little later'))
    giveUp()
    await Promise.all(underWay)
  } finally {
    clearInterval(renewing)
    clearInterval(counting)
    stopping.removeEventListener('abort', giveUp)
  }
}
