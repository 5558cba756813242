import type { Clock } from '../environment/clock.ts'
import { type Envelope, type Pong, PROTOCOL, readEnvelope, type TabMessage } from './tab-message.ts'

/** A living tab answers in milliseconds, even a throttled one (measured: 1–7 ms). */
export const ANSWER_WITHIN_MS = 2_000

const REMEMBERED = 50

/** The part of BroadcastChannel that is used. */
export interface ChannelPort {
  postMessage(message: unknown): void
  onmessage: ((event: MessageEvent) => void) | null
  close(): void
}

/** A promise where its code has to be loaded first. Throws or rejects where tabs cannot be reached. */
export type OpenChannel = (name: string) => ChannelPort | Promise<ChannelPort>

export interface TabChannel {
  post(message: TabMessage): void
  /** Asks one tab, or with null the leader, whether it is there. Null: no answer in two seconds. */
  ping(to: string | null): Promise<Pong | null>
  /** The last ones, ours and theirs, for whoever looks under the bonnet. */
  readonly messages: readonly Envelope[]
  /** Null: it can be used at once. Rejects when it never can, as if there were no channel. */
  readonly ready: Promise<unknown> | null
  /** False when it turned out that tabs cannot be reached here. */
  works(): boolean
  close(): void
}

export interface TabChannelOptions {
  open: OpenChannel | null
  name: string
  tabId: string
  clock: Clock
  isVisible(): boolean
  /** What this tab says of itself when it is asked for. */
  leads(): { leads: boolean; epoch: number }
  onMessage(message: TabMessage, from: string): void
}

/** Null when tabs cannot be reached here. */
export function openTabChannel(options: TabChannelOptions): TabChannel | null {
  const { open, name, tabId, clock, isVisible, onMessage } = options
  if (!open) return null
  let opened: ReturnType<OpenChannel>
  let works = true
  try {
    opened = open(name)
  } catch {
    // Forbidden in sandboxed frames: the same as not there.
    return null
  }
  const ready = opened instanceof Promise ? opened : null
  ready?.catch(() => {
    works = false
  })
  const waiting = new Set<(pong: Pong | null) => void>()
  const messages: Envelope[] = []

  function remember(envelope: Envelope) {
    messages.push(envelope)
    if (messages.length > REMEMBERED) messages.shift()
  }

  function post(message: TabMessage) {
    const envelope = { holdfast: PROTOCOL, from: tabId, visible: isVisible(), at: clock.now(), message }
    remember(envelope)
    use((port) => port.postMessage(envelope))
  }

  /** At once where that is possible, else in order, when the channel is there. */
  function use(act: (port: ChannelPort) => void) {
    try {
      if (opened instanceof Promise) opened.then(act).catch(() => {})
      else act(opened)
    } catch {
      // Closed under us, or full where storage carries the messages: the others ask the server by themselves.
    }
  }

  function receive({ data }: MessageEvent) {
    const envelope = readEnvelope(data)
    if (!envelope || envelope.from === tabId) return
    const { message, from } = envelope
    remember(envelope)
    if (message.kind === 'ping') {
      const me = options.leads()
      if (message.to === tabId || (message.to === null && me.leads)) post({ kind: 'pong', to: from, ...me })
    } else if (message.kind === 'pong' && message.to === tabId) {
      for (const answer of waiting) answer(envelope as Pong)
    }
    onMessage(message, from)
  }
  use((port) => {
    port.onmessage = receive
  })

  return {
    post,
    messages,
    ready,
    works: () => works,
    ping: (to) =>
      new Promise((resolve) => {
        const answer = (pong: Pong | null) => {
          if (pong && (to === null ? !pong.message.leads : pong.from !== to)) return
          callOff()
          waiting.delete(answer)
          resolve(pong)
        }
        const callOff = clock.after(ANSWER_WITHIN_MS, () => answer(null))
        waiting.add(answer)
        post({ kind: 'ping', to })
      }),
    close() {
      for (const answer of waiting) answer(null)
      use((port) => {
        port.onmessage = null
        port.close()
      })
    },
  }
}
