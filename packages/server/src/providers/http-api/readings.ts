import type { FailureCode } from '@holdfast/shared'
import { contentTypeOfUrl } from '../content-type-of-url.ts'
import { isContentRefusal } from '../is-content-refusal.ts'
import { isExternalId } from '../is-external-id.ts'
import { isWebUrl } from '../is-web-url.ts'
import {
  CONTENT_REFUSED,
  CREDIT_SPENT,
  failedText,
  KEY_REFUSED,
  refusedText,
  unavailableText,
} from '../messages.ts'
import type { CreateOutcome, ProviderOutput, QueryOutcome, Usage } from '../provider.ts'
import { tidyText } from '../read-json.ts'

/** A failure in the vendor's words. What users read is made of them. */
interface FailureReading {
  words?: string | null | undefined
  /** @default 'CONTENT_REFUSED' if the words say so plainly, else what the outcome stands for */
  code?: FailureCode
  /** Whether the same request may work another time. */
  retryable?: boolean
}

/** What a reply to a create says. See `CreateOutcome` for what each kind leads to. */
export type CreateReading =
  | { kind: 'accepted'; externalId: string }
  | ({ kind: 'refused' } & FailureReading)
  | { kind: 'not-accepted'; reason: string; retryAfterMs?: number | null }
  | { kind: 'unknown'; reason: string }

export interface OutputReading {
  url: string
  /** @default guessed from the URL */
  contentType?: string | null
  /** @default `urlLifetimeMs` of the API */
  urlLifetimeMs?: number | null
}

/** What a reply to a query says. Anything that is not the end is `running`. */
export type QueryReading =
  /** `progress` in per cent; `queuePosition`: how many are ahead of it, while it waits for its turn. */
  | { kind: 'running'; progress?: number | null | undefined; queuePosition?: number | null | undefined }
  /** `usage`: what the vendor says it took, for the type's price. */
  | { kind: 'succeeded'; outputs: OutputReading[]; usage?: Usage | undefined }
  | ({ kind: 'failed' } & FailureReading)
  | { kind: 'cancelled' }
  | { kind: 'not-found' }
  | { kind: 'inconclusive'; reason: string; retryAfterMs?: number | null }

export function toCreateOutcome(reading: CreateReading): CreateOutcome {
  switch (reading.kind) {
    case 'accepted':
      return isExternalId(reading.externalId)
        ? { kind: 'accepted', externalId: reading.externalId }
        : { kind: 'unknown', reason: 'accepted, but the reply names no task' }
    case 'refused':
      return { kind: 'refused', ...toFailure(reading, 'SUBMIT_REFUSED') }
    case 'not-accepted':
      return { kind: 'not-accepted', reason: reading.reason, retryAfterMs: reading.retryAfterMs ?? null }
    case 'unknown':
      return { kind: 'unknown', reason: reading.reason }
  }
}

/** Null for a success without a single usable URL. */
export function toQueryOutcome(reading: QueryReading, urlLifetimeMs: number | null): QueryOutcome | null {
  switch (reading.kind) {
    case 'running':
      return {
        kind: 'running',
        progress: toPercent(reading.progress),
        ...(isPosition(reading.queuePosition) && { queuePosition: reading.queuePosition }),
      }
    case 'succeeded': {
      const outputs = reading.outputs.flatMap((output) => toOutput(output, urlLifetimeMs))
      if (outputs.length === 0) return null
      return { kind: 'succeeded', outputs, ...(reading.usage ? { usage: reading.usage } : {}) }
    }
    case 'failed':
      return { kind: 'failed', ...toFailure(reading, 'PROVIDER_FAILED') }
    case 'inconclusive':
      return { kind: 'inconclusive', reason: reading.reason, retryAfterMs: reading.retryAfterMs ?? null }
    case 'cancelled':
    case 'not-found':
      return { kind: reading.kind }
  }
}

function toFailure(
  { words, code, retryable }: FailureReading,
  usual: 'SUBMIT_REFUSED' | 'PROVIDER_FAILED',
): { code: FailureCode; message: string; retryable: boolean } {
  const said = tidyText(words)
  const is = code ?? (isContentRefusal(said) ? 'CONTENT_REFUSED' : usual)
  if (is === 'CONTENT_REFUSED') return { code: is, message: CONTENT_REFUSED, retryable: false }
  if (is === 'PROVIDER_AUTH') return { code: is, message: KEY_REFUSED, retryable: false }
  if (is === 'PROVIDER_QUOTA') return { code: is, message: CREDIT_SPENT, retryable: false }
  // A refused request would be refused again; a generation that failed may come out another time.
  const again = retryable ?? usual === 'PROVIDER_FAILED'
  if (usual === 'PROVIDER_FAILED') return { code: is, message: failedText(said, again), retryable: again }
  return { code: is, message: again ? unavailableText(said) : refusedText(said), retryable: again }
}

function toOutput(output: OutputReading, urlLifetimeMs: number | null): ProviderOutput[] {
  const { url, contentType, urlLifetimeMs: own } = output
  if (!isWebUrl(url)) return []
  return [
    {
      url,
      contentType: contentType ?? contentTypeOfUrl(url),
      urlLifetimeMs: own === undefined ? urlLifetimeMs : own,
    },
  ]
}

function toPercent(value: unknown): number | null {
  if (typeof value !== 'number' || !Number.isFinite(value)) return null
  return Math.round(Math.min(Math.max(value, 0), 100))
}

/** Beyond this it is no place in a queue but something else. */
const LAST_POSITION = 1_000_000

function isPosition(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) >= 0 && Number(value) <= LAST_POSITION
}
