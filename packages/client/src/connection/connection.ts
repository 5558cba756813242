import { childAbort } from '../environment/child-abort.ts'
import { type Clock, sleep } from '../environment/clock.ts'
import { HoldfastError } from '../holdfast-error.ts'
import type { StreamOutcome } from '../transport/transport.ts'
import { backoff } from './backoff.ts'

/** A stream that lived this long was fine, whatever ended it. */
const QUICK_MS = 10_000
const QUICK_FAILURES = 3
/** How long to poll before push gets another chance. */
const PUSH_AGAIN_MS = 60_000

export interface ConnectionOptions {
  clock: Clock
  random(): number
  /** Ends the connection with its session. */
  signal: AbortSignal
  /** False: streams are not to be used here. */
  push: boolean
  /** Whether the state is complete and has a cursor to resume from. */
  isSynced(): boolean
  /** One request for everything there is to know. */
  sync(): Promise<void>
  /** Reads one stream to its end. `onOpen` hands over the check for silence. */
  stream(options: {
    freshToken: boolean
    signal: AbortSignal
    onOpen(checkSilence: () => void): void
    onNews(): void
  }): Promise<StreamOutcome>
  pollInterval(): number
  /** A newer leader of this browser is connected. */
  onSuperseded(): void
  onStatus(status: 'push' | 'polling' | 'offline'): void
}

export interface Connection {
  /** Do not wait any longer: something says that it may work now. */
  wake(why: 'online' | 'visible'): void
  /** There is something new to watch: the wait for the next poll may be too long now. */
  nudge(): void
  stop(): void
}

/**
 * Keeps the leading tab in touch with the server:
 *
 *     push ──three quick failures, or nothing comes through──► polling
 *       ▲ ◄──────────────────after a minute────────────────────── │
 *       └────────── offline: retried with full jitter ◄───────────┘
 */
export function connect(options: ConnectionOptions): Connection {
  const { clock, random } = options
  const life = childAbort(options.signal)
  const { signal } = life
  let failures = 0
  let quickFailures = 0
  let pushAgainAt = 0
  let freshToken = false
  let nextPollAt = 0
  let stopWaiting = () => {}
  let checkSilence = () => {}

  function onStatus(status: 'push' | 'polling' | 'offline') {
    if (!signal.aborted) options.onStatus(status)
  }

  async function wait(ms: number) {
    const pause = childAbort(signal)
    stopWaiting = pause.abort
    await sleep(clock, ms, pause.signal)
    pause.abort()
  }

  const mayPush = () => options.push && (quickFailures < QUICK_FAILURES || clock.now() >= pushAgainAt)

  async function push() {
    let openedAt = Number.POSITIVE_INFINITY
    let outcome: StreamOutcome | undefined
    let problem: Partial<HoldfastError> | undefined
    try {
      outcome = await options.stream({
        freshToken,
        signal,
        onOpen(check) {
          openedAt = clock.now()
          checkSilence = check
        },
        onNews() {
          failures = 0
          onStatus('push')
        },
      })
    } catch (error) {
      problem = error as HoldfastError
    }
    checkSilence = () => {}
    if (signal.aborted) return
    if (outcome === 'superseded' || problem?.code === 'SUPERSEDED') {
      return options.onSuperseded()
    }

    const lived = clock.now() - openedAt
    freshToken = outcome === 'token-expired'
    // A token that is refused as soon as it was renewed is a failure like any other.
    const renew = freshToken && lived >= 1_000
    if (outcome === 'mute') quickFailures = QUICK_FAILURES
    // Some proxies let the beginning through and hold back the rest: such a stream lives, but is not fine.
    else if (lived >= QUICK_MS && outcome !== 'silent') quickFailures = 0
    else if (!renew && outcome !== 'shutdown') quickFailures++

    if (quickFailures >= QUICK_FAILURES) pushAgainAt = clock.now() + PUSH_AGAIN_MS * (0.5 + random() / 2)
    else if (!outcome) throw problem
    // Also after a first quick failure within a second: a replica may die right after another one did.
    else if (!renew) await wait(backoff(quickFailures >> 1, random))
  }

  async function poll(justSynced: boolean) {
    try {
      if (!justSynced) await options.sync()
    } catch (error) {
      // Nothing at all comes through, so this is not about streams: the first sign of life may be one.
      pushAgainAt = 0
      throw error
    }
    failures = 0
    onStatus('polling')
    // Where every tab polls for itself, jitter keeps them from asking in step.
    const pause = options.pollInterval() * (0.9 + random() / 5)
    nextPollAt = clock.now() + pause
    await wait(pause)
    nextPollAt = 0
  }

  async function run() {
    while (!signal.aborted) {
      try {
        const isFirst = !options.isSynced()
        if (isFirst) await options.sync()
        if (signal.aborted) return
        await (mayPush() ? push() : poll(isFirst))
      } catch (error) {
        if (signal.aborted) return
        onStatus('offline')
        const atLeast = error instanceof HoldfastError ? error.retryAfterMs : 0
        await wait(Math.max(atLeast, backoff(failures++, random)))
      }
    }
  }
  void run()

  return {
    wake(why) {
      failures = 0
      if (why === 'online') pushAgainAt = 0
      checkSilence()
      stopWaiting()
    },
    nudge() {
      if (nextPollAt - clock.now() > options.pollInterval() * 1.1) stopWaiting()
    },
    stop: life.abort,
  }
}
