import type { Envelope } from '../tabs/tab-message.ts'
import type { LoggedMessage } from './models/message-rows.ts'

/** The client remembers the last fifty; who watches remembers more. */
const KEPT = 300

export interface MessageLog {
  readonly messages: readonly LoggedMessage[]
  take(messages: readonly Envelope[]): void
  clear(): void
}

export function createMessageLog(): MessageLog {
  const seen = new WeakSet<Envelope>()
  let log: LoggedMessage[] = []
  let count = 0
  return {
    get messages() {
      return log
    },
    take(messages) {
      const fresh = messages.filter((envelope) => !seen.has(envelope))
      if (fresh.length === 0) return
      for (const envelope of fresh) seen.add(envelope)
      log = [...log, ...fresh.map((envelope) => ({ number: ++count, envelope }))].slice(-KEPT)
    },
    clear() {
      log = []
    },
  }
}
