import type { Clock } from '../environment/clock.ts'
import { type Envelope, PROTOCOL, readEnvelope, type Sender, type TabMessage } from './tab-message.ts'

/** A living tab answers in milliseconds, even a throttled one (measured: 1–7 ms). */
export const ANSWER_WITHIN_MS = 2_000

/** The part of BroadcastChannel that is used. */
export interface ChannelPort {
  postMessage(message: unknown): void
  onmessage: ((event: MessageEvent) => void) | null
  close(): void
}

export interface Pong extends Sender {
  epoch: number
}

export interface TabChannel {
  post(message: TabMessage): void
  /** Asks one tab, or with null the leader, whether it is there. Null: no answer in two seconds. */
  ping(to: string | null): Promise<Pong | null>
  close(): void
}

export interface TabChannelOptions {
  open: ((name: string) => ChannelPort) | null
  name: string
  tabId: string
  clock: Clock
  isVisible(): boolean
  /** What this tab says of itself when it is asked for. */
  leads(): { leads: boolean; epoch: number }
  onMessage(message: TabMessage, from: Sender): void
}

/** Null when tabs cannot be reached here. */
export function openTabChannel(options: TabChannelOptions): TabChannel | null {
  const { open, name, tabId, clock, isVisible, onMessage } = options
  if (!open) return null
  let port: ChannelPort
  try {
    port = open(name)
  } catch {
    // Forbidden in sandboxed frames: the same as not there.
    return null
  }
  const waiting = new Set<(from: Pong | null, leads: boolean) => void>()

  function post(message: TabMessage) {
    const envelope: Envelope = { holdfast: PROTOCOL, from: tabId, visible: isVisible(), message }
    try {
      port.postMessage(envelope)
    } catch {
      // Closed under us, or full where storage carries the messages: the others ask the server by themselves.
    }
  }

  port.onmessage = ({ data }) => {
    const envelope = readEnvelope(data)
    if (!envelope || envelope.from === tabId) return
    const { message, from, holdfast, visible } = envelope
    const sender: Sender = { tabId: from, protocol: holdfast, visible }
    if (message.kind === 'ping') {
      const me = options.leads()
      if (message.to === tabId || (message.to === null && me.leads)) post({ kind: 'pong', to: from, ...me })
    } else if (message.kind === 'pong' && message.to === tabId) {
      for (const answer of waiting) answer({ ...sender, epoch: message.epoch }, message.leads)
    }
    onMessage(message, sender)
  }

  return {
    post,
    ping: (to) =>
      new Promise((resolve) => {
        const finish = (pong: Pong | null) => {
          callOff()
          waiting.delete(answer)
          resolve(pong)
        }
        const answer = (from: Pong | null, leads: boolean) => {
          if (!from || (to === null ? leads : from.tabId === to)) finish(from)
        }
        const callOff = clock.after(ANSWER_WITHIN_MS, () => finish(null))
        waiting.add(answer)
        post({ kind: 'ping', to })
      }),
    close() {
      port.onmessage = null
      for (const answer of waiting) answer(null, false)
      port.close()
    },
  }
}
