import type { ApiReply } from '../http-api/api-request.ts'
import type { QueryReading } from '../http-api/readings.ts'
import { asRecord } from '../read-json.ts'

const UNFINISHED = new Set(['queued', 'in_progress'])
/** How gateways and models call a refusal for content. */
const CONTENT_CODES = /moderation|content_policy|safety/i
/** The request itself is wrong, so that the same one would fail again. */
const OUR_FAULT = /^(invalid|unsupported)/i

export interface ReadVideoOptions {
  /** Where the bytes of a video are, for whoever has the key. */
  contentUrl: (externalId: string) => string
  /** Used where the video does not say when its bytes go. */
  urlLifetimeMs: number
  unknownStatus: (status: unknown) => void
}

/** What `GET /videos/{id}` says. Throws where it is no video: pending ones omit what they do not know yet. */
export function readVideo(
  { json, now }: Pick<ApiReply, 'json' | 'now'>,
  externalId: string,
  { contentUrl, urlLifetimeMs, unknownStatus }: ReadVideoOptions,
): QueryReading {
  const video = asRecord(json)
  if (typeof video?.status !== 'string') throw new Error('the video has no status')
  // Another task's result must never be shown as this one's.
  if (video.id !== undefined && video.id !== externalId) throw new Error('the reply is about another video')
  switch (video.status) {
    case 'completed': {
      const leftMs = expiresAt(video) === null ? urlLifetimeMs : (expiresAt(video) ?? 0) - now
      if (leftMs <= 0) return EXPIRED
      return {
        kind: 'succeeded',
        outputs: [{ url: contentUrl(externalId), contentType: 'video/mp4', urlLifetimeMs: leftMs }],
      }
    }
    case 'failed':
      return readFailure(asRecord(video.error))
    // Not OpenAI's own; gateways say it of what was not fetched in time, or never got its turn.
    case 'expired':
      return EXPIRED
  }
  if (!UNFINISHED.has(video.status)) unknownStatus(video.status)
  return { kind: 'running', progress: typeof video.progress === 'number' ? video.progress : null }
}

const EXPIRED: QueryReading = {
  kind: 'failed',
  words: 'the video has expired at the service',
  retryable: true,
}

/** In milliseconds; null where it is not told. */
function expiresAt({ expires_at }: Record<string, unknown>): number | null {
  return typeof expires_at === 'number' && expires_at > 0 ? expires_at * 1000 : null
}

function readFailure(error: Record<string, unknown> | null): QueryReading {
  const code = typeof error?.code === 'string' ? error.code : ''
  const words = typeof error?.message === 'string' ? error.message : ''
  if (CONTENT_CODES.test(code)) return { kind: 'failed', code: 'CONTENT_REFUSED', words }
  return { kind: 'failed', words, retryable: !OUR_FAULT.test(code) }
}
