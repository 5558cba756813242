import type { Envelope } from '../../tabs/tab-message.ts'
import { messageText } from './message-text.ts'
import { clockText } from './time-text.ts'

export interface LoggedMessage {
  number: number
  envelope: Envelope
}

export interface MessageRow {
  number: number
  time: string
  from: string
  isMine: boolean
  kind: string
  text: string
  envelope: Envelope
}

/** Newest first. The filter looks at kind, sender and text. */
export function messageRows(log: readonly LoggedMessage[], tabId: string, filter: string): MessageRow[] {
  const wanted = filter.trim().toLowerCase()
  return log
    .map(({ number, envelope }) => ({
      number,
      time: clockText(envelope.at),
      from: envelope.from,
      isMine: envelope.from === tabId,
      kind: envelope.message.kind,
      text: messageText(envelope.message),
      envelope,
    }))
    .filter(({ kind, from, text }) => `${kind} ${from} ${text}`.toLowerCase().includes(wanted))
    .reverse()
}
