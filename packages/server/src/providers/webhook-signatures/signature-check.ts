import { timingSafeEqual } from 'node:crypto'

/** What a signature proves. */
export type SignatureCheck =
  | { kind: 'genuine' }
  | { kind: 'forged'; reason: string }
  | { kind: 'stale'; reason: string }

/** How far a webhook's time may be off, either way: what the vendors suggest. */
const TOLERANCE_MS = 300_000

/** Unix seconds as vendors write them; null for anything else, such as "1e9" or "-5". */
export function readTimestamp(value: string | undefined): number | null {
  return value !== undefined && /^\d{1,12}$/.test(value) ? Number(value) * 1000 : null
}

/** For what is well signed: a replay of an old call, or a clock that is off, is not acted upon. */
export function checkTime(signedAtMs: number, receivedAtMs: number): SignatureCheck {
  const offMs = receivedAtMs - signedAtMs
  if (Math.abs(offMs) <= TOLERANCE_MS) return { kind: 'genuine' }
  const seconds = Math.round(Math.abs(offMs) / 1000)
  return {
    kind: 'stale',
    reason: `it was signed for ${seconds} s ${offMs > 0 ? 'ago' : 'ahead'}; 300 s are allowed`,
  }
}

/** In a time that does not tell how much of it was right. As text: base64 and hex have several forms of the same bytes. */
export function isSameText(a: string, b: string): boolean {
  const left = Buffer.from(a)
  const right = Buffer.from(b)
  return left.length === right.length && timingSafeEqual(left, right)
}
