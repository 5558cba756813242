import type { HttpReply } from '../http-call.ts'
import { asRecord, parseJson, tidyText } from '../read-json.ts'

/**
 * A reply of KIE, in whichever of its two error styles: a real HTTP status, or HTTP 200 with a `code` that is not
 * 200. It is a success only if both say so.
 */
export type Answer =
  | { kind: 'ok'; data: unknown }
  | {
      kind: 'error'
      code: number
      /** The vendor's words, made fit to show: one line, at most 200 characters. May be empty. */
      message: string
      data: unknown
      /** Who said it. A bare status may come from a proxy that knows nothing about the task. */
      saidBy: 'kie' | 'proxy'
    }
  /** A 2xx or 3xx that is not KIE's envelope. */
  | { kind: 'unreadable'; status: number }

export function readEnvelope({ status, body }: Pick<HttpReply, 'status' | 'body'>): Answer {
  const isOk = status >= 200 && status < 300
  const envelope = asRecord(parseJson(body))
  const code = readCode(envelope?.code)
  if (envelope && code !== null) {
    if (code === 200 && isOk) return { kind: 'ok', data: envelope.data }
    const message = tidyText(envelope.msg) || tidyText(envelope.message)
    if (code !== 200) return { kind: 'error', code, message, data: envelope.data, saidBy: 'kie' }
  }
  if (status >= 400) return { kind: 'error', code: status, message: '', data: undefined, saidBy: 'proxy' }
  return { kind: 'unreadable', status }
}

function readCode(value: unknown): number | null {
  if (typeof value === 'number') return Number.isInteger(value) ? value : null
  return typeof value === 'string' && /^\d{3}$/.test(value) ? Number(value) : null
}
