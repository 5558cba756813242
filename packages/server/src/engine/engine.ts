import type { Logger } from 'pino'
import type { Bus } from '../bus/bus.ts'
import type { Sql } from '../database/connect.ts'
import { isDatabaseAway } from '../database/database-errors.ts'
import type { Provider } from '../providers/provider.ts'
import type { TaskTypes } from '../tasks/task-types.ts'
import { type ClaimedWork, claimWork, type WorkKind } from './claim-work.ts'
import { createBatcher } from './create-batcher.ts'
import type { EngineContext } from './engine-context.ts'
import { rescheduleWork } from './reschedule-work.ts'
import { runCancel } from './run-cancel.ts'
import { runPoll } from './run-poll.ts'
import { runSubmit } from './run-submit.ts'

export interface EngineOptions {
  /** Most steps under way at once. @default 200 */
  maxInFlight: number
  /** How often to look for due work when nothing wakes the engine. @default 250 */
  idleMs: number
  /** What a claim is good for on top of the provider's call limit. @default 5000 */
  leaseMarginMs: number
  /** How long a stop waits for what is under way. @default 15000 */
  stopWithinMs: number
}

export const defaultEngineOptions: EngineOptions = {
  maxInFlight: 200,
  idleMs: 250,
  leaseMarginMs: 5_000,
  stopWithinMs: 15_000,
}

export interface Engine {
  start(): void
  /** Look for due work now. */
  wake(): void
  /** Stops claiming, sees creates through, hands unfinished polls back. Idempotent. */
  stop(): Promise<void>
}

const KINDS: WorkKind[] = ['submit', 'poll', 'cancel']
const RUNNERS = { submit: runSubmit, poll: runPoll, cancel: runCancel }
const PAUSE_WHEN_AWAY_MS = 1_000

/** The one loop: claim what is due, run it, let it be rescheduled. */
export function createEngine(
  {
    sql,
    bus,
    types,
    providers,
    log,
    random = Math.random,
  }: {
    sql: Sql
    bus: Bus
    types: TaskTypes
    providers: ReadonlyMap<string, Provider>
    log: Logger
    random?: () => number
  },
  options: EngineOptions = defaultEngineOptions,
): Engine {
  const stopping = new AbortController()
  const givenUp = new AbortController()
  const inFlight = new Map<string, Promise<void>>()
  const reschedule = createBatcher({
    write: (batch: Parameters<typeof rescheduleWork>[1]) => rescheduleWork(sql, batch),
    onError: (error) =>
      log.warn({ err: error }, 'due times could not be written; those polls come a little later'),
  })
  const context: EngineContext = {
    sql,
    bus,
    types,
    providers,
    log,
    random,
    reschedule,
    stopping: stopping.signal,
    givenUp: givenUp.signal,
  }
  const longestCallMs = Math.max(
    0,
    ...[...providers.values()].map((provider) => provider.limits.callTimeoutMs),
  )
  const leaseMs = longestCallMs + options.leaseMarginMs

  let loop: Promise<void> | undefined
  let wakeUp: () => void = () => {}
  let woken = false

  /** Resolves after `ms`, or at once when something asks for attention. */
  function pause(ms: number): Promise<void> {
    if (woken || stopping.signal.aborted) {
      woken = false
      return Promise.resolve()
    }
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer)
        woken = false
        wakeUp = () => {}
        resolve()
      }
      const timer = setTimeout(done, ms)
      wakeUp = done
    })
  }

  function wake(): void {
    woken = true
    wakeUp()
  }

  async function run(work: ClaimedWork): Promise<void> {
    const provider = providers.get(work.provider)
    if (!provider) return
    try {
      await RUNNERS[work.kind](context, provider, work)
    } catch (error) {
      // The claim has already set when it is tried again.
      const level = isDatabaseAway(error) ? 'warn' : 'error'
      log[level](
        { err: error, taskId: work.taskId, kind: work.kind, traceId: work.traceId },
        'a step could not be finished',
      )
    }
  }

  async function loopUntilStopped(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        const room = options.maxInFlight - inFlight.size
        const claimed =
          room > 0
            ? await claimWork(sql, { kinds: KINDS, providers: [...providers.keys()], limit: room, leaseMs })
            : []
        for (const work of claimed) {
          // Still under way here: its answer is guarded by the task's status, so it need not be asked twice.
          if (inFlight.has(work.workId)) continue
          const running = run(work).finally(() => {
            inFlight.delete(work.workId)
            if (inFlight.size === options.maxInFlight - 1) wake()
          })
          inFlight.set(work.workId, running)
        }
        if (claimed.length < room || room <= 0) await pause(options.idleMs)
      } catch (error) {
        log.warn({ err: error }, 'looking for work failed; trying again')
        await pause(PAUSE_WHEN_AWAY_MS)
      }
    }
  }

  return {
    start() {
      loop ??= loopUntilStopped()
    },
    wake,
    async stop() {
      stopping.abort()
      wake()
      await loop
      let timer: NodeJS.Timeout | undefined
      const tooLong = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, options.stopWithinMs)
      })
      await Promise.race([Promise.all(inFlight.values()), tooLong])
      clearTimeout(timer)
      givenUp.abort()
      await reschedule.flush()
    },
  }
}
