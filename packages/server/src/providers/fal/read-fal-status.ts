import { progressOfLogs } from '../progress-of-logs.ts'
import { asRecord, tidyText } from '../read-json.ts'

/** What a status says. There is no "failed": what failed or was cancelled is completed too. */
export type StatusReading =
  | { kind: 'running'; progress: number | null; queuePosition?: number }
  /** Over; the result tells how it ended. `error` is what went wrong, where the status says so already. */
  | { kind: 'over'; error: { words: string; type: string } | null }

/** Throws where it says nothing about the request we asked for. */
export function readFalStatus(
  json: unknown,
  requestId: string,
  onUnknownStatus: (status: unknown) => void,
): StatusReading {
  const body = asRecord(json)
  if (!body || typeof body.status !== 'string') throw new Error('the reply has no status')
  if (body.request_id != null && body.request_id !== requestId) {
    throw new Error('the status is about another request')
  }
  switch (body.status) {
    case 'COMPLETED': {
      const words = tidyText(body.error) || tidyText(body.error_type)
      return { kind: 'over', error: words ? { words, type: tidyText(body.error_type) } : null }
    }
    case 'IN_QUEUE':
      return {
        kind: 'running',
        progress: progressOfMessages(body.logs),
        ...(typeof body.queue_position === 'number' && { queuePosition: body.queue_position }),
      }
    case 'IN_PROGRESS':
      break
    default:
      onUnknownStatus(body.status)
  }
  return { kind: 'running', progress: progressOfMessages(body.logs) }
}

function progressOfMessages(logs: unknown): number | null {
  if (!Array.isArray(logs)) return null
  const messages = logs.map((line) => String(asRecord(line)?.message ?? ''))
  return progressOfLogs(messages.slice(-100).join('\n'))
}
