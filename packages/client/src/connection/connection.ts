import type { Clock } from '../environment/clock.ts'
import { HoldfastError } from '../holdfast-error.ts'
import { createMachine } from '../state-machine.ts'
import type { StreamOutcome } from '../transport/transport.ts'
import {
  CONNECTION_RULES,
  type ConnectionStatus,
  type ConnectionWorld,
  NOT_CONNECTED,
} from './connection-rules.ts'

export interface ConnectionOptions extends Omit<ConnectionWorld, 'now'> {
  clock: Clock
  /** Ends the connection with its session. */
  signal: AbortSignal
  /** One request for everything there is to know. */
  sync(): Promise<void>
  /** Reads one stream to its end. `onOpen` hands over the check for silence. */
  stream(options: {
    freshToken: boolean
    signal: AbortSignal
    onOpen(checkSilence: () => void): void
    onNews(): void
  }): Promise<StreamOutcome>
  /** A newer leader of this browser is connected. */
  onSuperseded(): void
  onStatus(status: ConnectionStatus): void
}

export interface Connection {
  /** Do not wait any longer: something says that it may work now. */
  wake(why: 'online' | 'visible'): void
  /** There is something new to watch: the wait for the next poll may be too long now. */
  nudge(): void
  stop(): void
}

/** Keeps the leading tab in touch with the server, as the rules of `connection-rules.ts` say. */
export function connect(options: ConnectionOptions): Connection {
  const { clock } = options
  let checkSilence = () => {}

  const { send, sendLater, life } = createMachine({
    table: CONNECTION_RULES,
    initial: NOT_CONNECTED,
    clock,
    look: () => ({ ...options, now: clock.now() }),
    perform: {
      sync() {
        const signal = life()
        options.sync().then(
          () => signal.aborted || send({ type: 'synced' }),
          (error) => signal.aborted || send({ type: 'sync-failed', retryAfterMs: retryAfter(error) }),
        )
      },
      stream({ freshToken }) {
        const signal = life()
        const ended = (outcome: StreamOutcome | null, retryAfterMs = 0) => {
          checkSilence = () => {}
          if (!signal.aborted) send({ type: 'stream-ended', outcome, retryAfterMs })
        }
        options
          .stream({
            freshToken,
            signal,
            onOpen(check) {
              checkSilence = check
              send({ type: 'opened' })
            },
            onNews: () => send({ type: 'news' }),
          })
          .then(ended, (error) =>
            ended(error?.code === 'SUPERSEDED' ? 'superseded' : null, retryAfter(error)),
          )
      },
      status: ({ status }) => options.onStatus(status),
      'time-up': ({ ms }) => sendLater({ type: 'time-up' }, ms),
      'check-silence': () => checkSilence(),
      superseded: options.onSuperseded,
    },
  })

  function stop() {
    options.signal.removeEventListener('abort', stop)
    send({ type: 'stopped' })
  }
  options.signal.addEventListener('abort', stop)
  if (options.signal.aborted) stop()
  send({ type: 'time-up' })

  return {
    wake: (why) => send({ type: 'woken', why }),
    nudge: () => send({ type: 'nudged' }),
    stop,
  }
}

/** What the server asked us to wait. A transport of the app's own may reject with anything. */
function retryAfter(error: unknown): number {
  return error instanceof HoldfastError ? error.retryAfterMs : 0
}
