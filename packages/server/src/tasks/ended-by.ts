import type { FailureCode } from '@holdfast/shared'
import type { Settlement } from './settle-task.ts'

/** Who ended a task: its user, the provider by its own final word, or we. */
export type EndedBy = 'user' | 'provider' | 'us'

/** Where we gave a task up, the provider may not know that and go on working. */
const FAILED_BY: Record<FailureCode, 'provider' | 'us'> = {
  SUBMIT_UNKNOWN: 'us',
  SUBMIT_REFUSED: 'provider',
  CONTENT_REFUSED: 'provider',
  PROVIDER_AUTH: 'provider',
  PROVIDER_QUOTA: 'provider',
  PROVIDER_FAILED: 'provider',
  TASK_NOT_FOUND: 'us',
  RESULT_UNREADABLE: 'provider',
  DEADLINE_EXCEEDED: 'us',
  WAIT_EXCEEDED: 'us',
  SILENT_TOO_LONG: 'us',
}

export function endedBy(settlement: Settlement): EndedBy {
  switch (settlement.status) {
    case 'completed':
      return 'provider'
    case 'cancelled':
      return settlement.by ?? 'user'
    case 'failed':
      return FAILED_BY[settlement.failure.code]
  }
}
