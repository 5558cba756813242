import type { Logger } from 'pino'
import { createLimiter } from '../concurrency/limiter.ts'
import type { WakeUp } from '../concurrency/wake-up.ts'
import { logFailure, outageLogOf } from '../outage-log.ts'
import type { Claimed, RunningClaim, WorkKind } from './work-kind.ts'

const PAUSE_WHEN_AWAY_MS = 1_000
/** How often it is looked whether a probe is over. That asks nobody, and the probe may be another loop's. */
const PROBE_LOOK_MS = 250

export interface WorkPlace {
  log: Logger
  /** Wakes the loop: there may be due work, or there is room again. */
  wakeUp: WakeUp
  /** Nothing is claimed any more from then on. */
  stopping: AbortSignal
}

/** A claim of this process. Most kinds never ask for its signal or free its place early, so both are made when asked for. */
class HeldClaim<T> implements RunningClaim {
  readonly work: T
  readonly claimedAt: number
  readonly isProbe: boolean
  readonly #onFree: () => void
  #ending: AbortController | undefined
  #place: PromiseWithResolvers<void> | undefined

  constructor(work: T, claimedAt: number, isProbe: boolean, onFree: () => void) {
    this.work = work
    this.claimedAt = claimedAt
    this.isProbe = isProbe
    this.#onFree = onFree
  }

  get signal(): AbortSignal {
    this.#ending ??= new AbortController()
    return this.#ending.signal
  }

  get freed(): Promise<void> {
    this.#place ??= Promise.withResolvers()
    return this.#place.promise
  }

  free(): void {
    this.#place?.resolve()
    this.#onFree()
  }

  abort(): void {
    this.#ending ??= new AbortController()
    this.#ending.abort()
  }
}

/**
 * The one loop: claims what is due of one kind, runs it, and sleeps until somebody wakes it. After a stop it waits for
 * what is under way.
 *
 *     sleep ──woken──► claim ──► run ──► sleep, until the budget may give more, or for ever
 *                        ▲        │
 *                        └─ room ─┘
 */
export async function runWork<T extends Claimed>(
  kind: WorkKind<T>,
  { log, wakeUp, stopping }: WorkPlace,
): Promise<void> {
  const { slots } = kind
  const { breaker } = slots
  const database = outageLogOf(log, 'PostgreSQL')
  const held = new Set<HeldClaim<T>>()
  const finishing = new Set<Promise<void>>()
  const limiter = createLimiter<HeldClaim<T>>(slots.atOnce, begin)

  async function run(one: HeldClaim<T>): Promise<void> {
    try {
      await kind.run(one.work, one)
    } catch (error) {
      // The claim has already set when it is tried again.
      const { taskId, traceId } = one.work
      logFailure(log, error, 'a step could not be finished', { kind: kind.name, taskId, traceId }, 'error')
    }
    end(one)
  }

  function end(one: HeldClaim<T>): void {
    held.delete(one)
    slots.underWay -= 1
    if (one.isProbe) {
      breaker.learnedNothing(performance.now())
      wakeUp.wake()
    }
    // When nothing is under way any more, the next look writes that down for the other replicas.
    useRoom()
    if (slots.underWay === 0) wakeUp.wake()
  }

  /** Wakes whoever may have more to claim and found no room for it: this loop, or that of a kind with the same slots. */
  function useRoom(): void {
    if (slots.waiting.size === 0 || slots.room() === 0) return
    const waiting = [...slots.waiting]
    slots.waiting.clear()
    for (const one of waiting) one.wake()
  }

  /** Holds its place until the step is over, or has freed it. */
  function begin(one: HeldClaim<T>): Promise<void> {
    if (!kind.freesEarly) return run(one)
    const { freed } = one
    const over: Promise<void> = run(one).finally(() => finishing.delete(over))
    finishing.add(over)
    return Promise.race([over, freed])
  }

  /** Claims what there is room for and starts it. Returns how long to sleep. */
  async function fill(): Promise<number> {
    kind.observe?.()
    const now = performance.now()
    const allowed = breaker.allowed(now)
    if (allowed === 0) return breaker.state === 'open' ? breaker.nextTryAt() - now : PROBE_LOOK_MS
    const count = Math.min(slots.room(), allowed)
    if (count === 0) {
      // What ends next wakes us.
      slots.waiting.add(wakeUp)
      return Number.POSITIVE_INFINITY
    }
    slots.waiting.delete(wakeUp)
    const { works, retryMs } = await kind.claim({ count, underWay: slots.underWay })
    database.back()
    const isProbe = allowed === 1 && works.length > 0
    if (isProbe) breaker.probing()
    slots.underWay += works.length
    const claims = works.map((work) => new HeldClaim(work, now, isProbe, useRoom))
    for (const one of claims) held.add(one)
    limiter.add(claims)
    // What is not finished by then comes due again.
    if (works.length > 0) wakeUp.wakeIn(kind.leaseMs)
    kind.observe?.()
    return works.length >= count ? 0 : (retryMs ?? Number.POSITIVE_INFINITY)
  }

  /** Tells the others that we are still at it, and learns what was taken over. */
  async function renew(): Promise<void> {
    const claims = [...held]
    if (claims.length === 0 || !kind.renew) return
    const kept = await kind.renew.renew(claims.map(({ work }) => work))
    for (const one of claims) if (!kept.has(one.work.workId)) one.abort()
  }

  async function handBack(): Promise<void> {
    if (!kind.handBack) return
    const left = limiter.takeWaiting()
    for (const one of left) end(one)
    if (left.length > 0) await kind.handBack(left.map(({ work }) => work))
  }

  const explain = (message: string) => (error: unknown) =>
    logFailure(log, error, message, { kind: kind.name, of: kind.of })
  const renewing =
    kind.renew &&
    setInterval(() => void renew().catch(explain('claims were not prolonged')), kind.renew.everyMs)
  const abortAll = () => {
    for (const one of held) one.abort()
  }
  stopping.addEventListener('abort', abortAll)
  try {
    while (!stopping.aborted) {
      try {
        const pauseMs = await slots.claiming(fill)
        if (pauseMs > 0) await wakeUp.pause(pauseMs, stopping)
      } catch (error) {
        explain('looking for work failed; trying again')(error)
        await wakeUp.pause(PAUSE_WHEN_AWAY_MS, stopping)
      }
    }
    await handBack().catch(explain('claims were not handed back; others take them up a little later'))
    abortAll()
    await limiter.drained()
    await Promise.all(finishing)
  } finally {
    clearInterval(renewing)
    slots.waiting.delete(wakeUp)
    stopping.removeEventListener('abort', abortAll)
  }
}
